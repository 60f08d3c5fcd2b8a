{% macro hoodoo__get_incremental_default_sql(arg_dict) %}
  {% if arg_dict['unique_key'] %}
    {% do return(get_incremental_merge_sql(arg_dict)) %}
  {% endif %}
  {% do return(get_incremental_append_sql(arg_dict)) %}
{% endmacro %}

{# Where all columns of rows change, the merge names none: on the record key it is an upsert then. #}
{% macro hoodoo__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates=none) -%}
  {%- set predicates = [] + (incremental_predicates or []) -%}
  {%- set columns = dest_columns | map(attribute='quoted') | list -%}
  {%- for key in ([unique_key] if unique_key is string else (unique_key or [])) -%}
    {%- do predicates.append('DBT_INTERNAL_SOURCE.' ~ key ~ ' = DBT_INTERNAL_DEST.' ~ key) -%}
  {%- endfor -%}
  {%- if not unique_key -%}
    {% do exceptions.raise_compiler_error("model " ~ model.name ~ ": merges, and has no unique_key. Fix: Name it: unique_key='id', or use incremental_strategy='append'.") %}
  {%- endif -%}
  {%- set only, but = config.get('merge_update_columns'), config.get('merge_exclude_columns') -%}
  merge into {{ target }} as DBT_INTERNAL_DEST
  using {{ source }} as DBT_INTERNAL_SOURCE
  on {{ predicates | join(' and ') }}
  when matched then update set
  {%- if only or but %}
    {%- for column in get_merge_update_columns(only, but, dest_columns) %}
    {{ column }} = DBT_INTERNAL_SOURCE.{{ column }}{{ "," if not loop.last }}
    {%- endfor %}
  {%- else %}
    {%- for column in columns %}
    {{ column }} = DBT_INTERNAL_SOURCE.{{ column }}{{ "," if not loop.last }}
    {%- endfor %}
  {%- endif %}
  when not matched then insert ({{ columns | join(', ') }})
  values (
    {%- for column in columns -%}
      DBT_INTERNAL_SOURCE.{{ column }}{{ ", " if not loop.last }}
    {%- endfor -%})
{%- endmacro %}

{# Two commits: a reader between them sees the rows deleted. #}
{% macro hoodoo__get_delete_insert_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) -%}
  {%- set columns = get_quoted_csv(dest_columns | map(attribute='name')) -%}
  {%- set keys = [unique_key] if unique_key is string else (unique_key or []) -%}
  {%- if keys -%}
  merge into {{ target }} as DBT_INTERNAL_DEST
  using (
    {#- Other names: a predicate may name columns of the table without saying so. #}
    select distinct {% for key in keys %}{{ key }} as dbt_key_{{ loop.index }}{{ ", " if not loop.last }}{% endfor %}
    from {{ source }}) as DBT_INTERNAL_SOURCE
  on {% for key in keys -%}
    DBT_INTERNAL_SOURCE.dbt_key_{{ loop.index }} = DBT_INTERNAL_DEST.{{ key }}{{ " and " if not loop.last }}
  {%- endfor %}
  {%- for predicate in incremental_predicates or [] %} and {{ predicate }}{% endfor %}
  when matched then delete;
  {%- endif %}
  insert into {{ target }} ({{ columns }})
  select {{ columns }} from {{ source }}
{%- endmacro %}

{# The partitions in which rows arrive; without partitions, the whole table. #}
{% macro hoodoo__get_insert_overwrite_merge_sql(target, source, dest_columns, predicates, include_sql_header) -%}
  {%- if predicates -%}
    {% do exceptions.raise_compiler_error("model " ~ model.name ~ ": has incremental_predicates, and insert_overwrite replaces whole partitions. Fix: Leave them out, or use delete+insert.") %}
  {%- endif -%}
  {%- set columns = get_quoted_csv(dest_columns | map(attribute='name')) -%}
  set hoodie.datasource.overwrite.mode = dynamic;
  insert overwrite {{ target }} ({{ columns }})
  select {{ columns }} from {{ source }}
{%- endmacro %}

{% macro hoodoo__get_incremental_microbatch_sql(arg_dict) -%}
  {%- set columns = get_quoted_csv(arg_dict['dest_columns'] | map(attribute='name')) -%}
  {%- set target, event_time = arg_dict['target_relation'], model.config.event_time -%}
  {%- set begin, end = model.config.get('__dbt_internal_microbatch_event_time_start'), model.config.get('__dbt_internal_microbatch_event_time_end') -%}
  delete from {{ target }} where true
  {%- if begin %} and {{ event_time }} >= timestamp '{{ begin }}'{% endif %}
  {%- if end %} and {{ event_time }} < timestamp '{{ end }}'{% endif %};
  insert into {{ target }} ({{ columns }})
  select {{ columns }} from {{ arg_dict['temp_relation'] }}
{%- endmacro %}

{% macro hoodoo__snapshot_hash_arguments(args) -%}
  md5({%- for arg in args -%}
    coalesce(cast({{ arg }} as string), ''){{ " || '|' || " if not loop.last }}
  {%- endfor -%})
{%- endmacro %}

{% macro hoodoo__snapshot_string_as_time(timestamp) -%}
  {{ return("timestamp '" ~ timestamp ~ "'") }}
{%- endmacro %}

{% macro hoodoo__post_snapshot(staging_relation) -%}
  {% do adapter.drop_relation(staging_relation) %}
{%- endmacro %}
