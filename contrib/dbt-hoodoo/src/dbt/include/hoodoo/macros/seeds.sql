{# The rows of a file replace those of the table, in one commit. #}
{% macro hoodoo__create_csv_table(model, agate_table) -%}
  {{ return('') }}
{%- endmacro %}

{% macro hoodoo__reset_csv_table(model, full_refresh, old_relation, agate_table) -%}
  {{ return('') }}
{%- endmacro %}

{% macro hoodoo__load_csv_rows(model, agate_table) -%}
  {%- set types = model['config'].get('column_types', {}) -%}
  {%- set held = make_temp_relation(this) -%}
  {%- do adapter.hold_seed(held, agate_table) -%}
  {% set statement_text %}
    create or replace table {{ this.render() }} {{ hoodoo__table_clauses() }} as
    select
    {%- for name in agate_table.column_names %}
      cast({{ adapter.quote(name) }} as {{ types.get(name, adapter.convert_type(agate_table, loop.index0)) }}) as {{ adapter.quote(name) }}{{ "," if not loop.last }}
    {%- endfor %}
    from {{ held.render() }}
  {% endset %}
  {% do adapter.add_query(statement_text, auto_begin=False) %}
  {% do adapter.drop_relation(held) %}
  {{ return(statement_text) }}
{%- endmacro %}
