import io.debezium.engine.*;
import io.debezium.engine.format.Json;
import java.io.*;
import java.util.*;
import java.util.concurrent.*;

public class Recorder {
  public static void main(String[] a) throws Exception {
    Properties p = new Properties();
    p.setProperty("name", "engine");
    p.setProperty("connector.class", "io.debezium.connector.postgresql.PostgresConnector");
    p.setProperty("offset.storage", "org.apache.kafka.connect.storage.MemoryOffsetBackingStore");
    p.setProperty("offset.flush.interval.ms", "60000");
    p.setProperty("database.hostname", "127.0.0.1");
    p.setProperty("database.port", a[0]);
    p.setProperty("database.user", "postgres");
    p.setProperty("database.password", "");
    p.setProperty("database.dbname", "postgres");
    p.setProperty("topic.prefix", "bank");
    p.setProperty("plugin.name", "pgoutput");
    p.setProperty("snapshot.mode", "initial");
    p.setProperty("table.include.list", "public.accounts");
    p.setProperty("converter.schemas.enable", "false");
    final PrintWriter out = new PrintWriter(new FileWriter(a[1]));
    final int wanted = Integer.parseInt(a[2]);
    final CountDownLatch done = new CountDownLatch(1);
    final int[] n = {0};
    DebeziumEngine<ChangeEvent<String, String>> e = DebeziumEngine.create(Json.class).using(p)
      .notifying(r -> { out.println(r.value()); out.flush(); System.err.println("EVENT " + (++n[0]));
                        if (n[0] >= wanted) done.countDown(); })
      .using((ok, msg, err) -> { System.err.println("END " + ok + " " + msg); if (err != null) err.printStackTrace(); done.countDown(); })
      .build();
    ExecutorService x = Executors.newSingleThreadExecutor();
    x.execute(e);
    done.await(150, TimeUnit.SECONDS);
    e.close(); out.close(); x.shutdownNow(); System.exit(0);
  }
}
