{# One statement: readers see the old rows or the new ones. #}
{% materialization table, adapter='hoodoo' -%}
  {%- set target = this.incorporate(type='table') -%}
  {{ run_hooks(pre_hooks) }}
  {% call statement('main') -%}
    {{ create_table_as(False, target, sql) }}
  {%- endcall %}
  {% do apply_grants(target, config.get('grants'), should_revoke=False) %}
  {% do persist_docs(target, model) %}
  {{ run_hooks(post_hooks) }}
  {{ return({'relations': [target]}) }}
{%- endmaterialization %}

{% materialization view, adapter='hoodoo' -%}
  {%- set target = this.incorporate(type='view') -%}
  {{ run_hooks(pre_hooks) }}
  {% call statement('main') -%}
    {{ get_create_view_as_sql(target, sql) }}
  {%- endcall %}
  {% do apply_grants(target, config.get('grants'), should_revoke=False) %}
  {% do persist_docs(target, model) %}
  {{ run_hooks(post_hooks) }}
  {{ return({'relations': [target]}) }}
{%- endmaterialization %}

{% materialization incremental, adapter='hoodoo' -%}
  {%- set existing = load_cached_relation(this) -%}
  {%- set target = this.incorporate(type='table') -%}
  {%- set temporary = make_temp_relation(target) -%}
  {%- set unique_key = config.get('unique_key') -%}
  {%- set on_schema_change = incremental_validate_on_schema_change(config.get('on_schema_change'), default='ignore') -%}
  {%- set strategy = adapter.get_incremental_strategy_macro(context, config.get('incremental_strategy') or 'default') -%}
  {{ run_hooks(pre_hooks) }}
  {% if existing is none or existing.is_view or should_full_refresh() %}
    {% call statement('main') -%}
      {{ create_table_as(False, target, sql) }}
    {%- endcall %}
  {% else %}
    {% do run_query(create_table_as(True, temporary, sql)) %}
    {% set columns = process_schema_changes(on_schema_change, temporary, existing) %}
    {% if not columns %}
      {% set columns = adapter.get_columns_in_relation(existing) %}
    {% endif %}
    {% set predicates = config.get('predicates') or config.get('incremental_predicates') %}
    {% call statement('main') -%}
      {{ strategy({'target_relation': target, 'temp_relation': temporary, 'unique_key': unique_key, 'dest_columns': columns, 'incremental_predicates': predicates}) }}
    {%- endcall %}
    {% do adapter.drop_relation(temporary) %}
  {% endif %}
  {% do apply_grants(target, config.get('grants'), should_revoke=False) %}
  {% do persist_docs(target, model) %}
  {{ run_hooks(post_hooks) }}
  {{ return({'relations': [target]}) }}
{%- endmaterialization %}
