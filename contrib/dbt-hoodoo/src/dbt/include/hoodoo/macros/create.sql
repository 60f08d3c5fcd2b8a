{# What CREATE TABLE says before AS, by the config of the model. #}
{% macro hoodoo__table_clauses() -%}
  {%- set record_key = config.get('record_key') -%}
  {%- if record_key is none -%}{%- set record_key = config.get('unique_key') -%}{%- endif -%}
  {%- if model.resource_type == 'snapshot' -%}{%- set record_key = config.get('record_key') -%}{%- endif -%}
  {%- set properties = {} -%}
  {%- for key, value in (config.get('tblproperties') or {}).items() -%}{%- do properties.update({key: value}) -%}{%- endfor -%}
  {%- for key, value in [('primaryKey', record_key), ('orderingFields', config.get('ordering')), ('type', config.get('table_type'))] -%}
    {%- if value -%}
      {%- do properties.update({key: value if value is string else value | unique | join(',')}) -%}
    {%- endif -%}
  {%- endfor -%}
  {%- set partition_by = config.get('partition_by') -%}
  using hudi
  {%- if partition_by %} partitioned by (
    {%- for column in ([partition_by] if partition_by is string else partition_by) -%}
      {{ adapter.quote(column) }}{{ ", " if not loop.last }}
    {%- endfor -%})
  {%- endif -%}
  {%- if properties %} tblproperties (
    {%- for key, value in properties.items() -%}
      '{{ key }}' = '{{ value | string | replace("\\", "\\\\") | replace("'", "\\'") }}'{{ ", " if not loop.last }}
    {%- endfor -%})
  {%- endif -%}
{%- endmacro %}

{% macro hoodoo__create_table_as(temporary, relation, compiled_code, language='sql') -%}
  {{ config.get('sql_header') or '' }}
  {% if temporary -%}
  create temporary table {{ relation.render() }} as
    {{ compiled_code }}
  {%- else -%}
  {%- set contract = config.get('contract') -%}
  {%- if contract and contract.enforced -%}
    {{ get_assert_columns_equivalent(compiled_code) }}
    {%- set compiled_code = get_select_subquery(compiled_code) -%}
  {%- endif -%}
  create or replace table {{ relation.render() }} {{ hoodoo__table_clauses() }} as
    {{ compiled_code }}
  {%- endif %}
{%- endmacro %}

{% macro hoodoo__create_view_as(relation, sql) -%}
  {{ config.get('sql_header') or '' }}
  {%- set contract = config.get('contract') -%}
  {%- if contract and contract.enforced -%}
    {{ get_assert_columns_equivalent(sql) }}
  {%- endif %}
  create or replace view {{ relation.render() }} as
    {{ sql }}
{%- endmacro %}
