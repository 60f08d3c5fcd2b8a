# Records accounts.jsonl: Debezium reads a Postgres 15 that is started for it on loopback. As root; needs Java 17 and Maven. About a minute.
cd "$(dirname "$0")" || exit 1
mvn -q -f pom.xml -DoutputDirectory="$PWD/jars" org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies || exit 1
H=$(mktemp -d); chown postgres "$H"; chmod 755 "$H"
B=/usr/lib/postgresql/15/bin
su postgres -c "$B/initdb -D $H/data -A trust -N -U postgres >/dev/null && $B/pg_ctl -w -D $H/data -o \"-p 45439 -c listen_addresses=127.0.0.1 -c wal_level=logical -c unix_socket_directories=$H -c fsync=off\" -l $H/log start" || exit 1
Q="psql -q -h 127.0.0.1 -p 45439 -U postgres -v ON_ERROR_STOP=1"
$Q <<'S'
create table accounts (id bigint primary key, city text, balance bigint, notes text);
alter table accounts alter column notes set storage external;
insert into accounts select n, 'city ' || n, n * 100, repeat(chr(96 + n::int), 2600) from generate_series(1, 4) n;
insert into accounts values (5, null, null, null);
S
timeout 200 java -XX:TieredStopAtLevel=1 -Xmx300m -cp "jars/*" Recorder.java 45439 accounts.jsonl 21 > java.log 2>&1 &
J=$!
for i in $(seq 60); do grep -q "EVENT 5" java.log && break; sleep 1; done; sleep 3
$Q <<'S'
update accounts set balance = 150 where id = 1;
update accounts set notes = 'short', city = 'Kyiv' where id = 2;
delete from accounts where id = 3;
insert into accounts values (6, 'Łódź', -1, repeat('z', 2600));
begin; update accounts set balance = 7 where id = 6; update accounts set balance = 8, city = null where id = 6; commit;
update accounts set id = 14, notes = 'moved' where id = 4;
update accounts set city = 'x', notes = null where id = 5;
delete from accounts where id = 6;
insert into accounts values (6, 'again', 1, 'back');
update accounts set balance = balance + 1 where id in (1, 14);
S
wait $J
psql -h 127.0.0.1 -p 45439 -U postgres -At -c "select json_agg(t) from (select id, city, balance, notes from accounts order by id) t" > accounts_at_the_end.json
su postgres -c "$B/pg_ctl -m immediate -D $H/data stop" ; rm -rf $H
rm -rf jars java.log
