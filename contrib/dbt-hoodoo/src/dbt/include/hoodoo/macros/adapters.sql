{% macro hoodoo__current_timestamp() -%}
  current_timestamp()
{%- endmacro %}

{% macro hoodoo__alter_column_type(relation, column_name, new_column_type) -%}
  {% call statement('alter_column_type') %}
    alter table {{ relation.render() }} alter column {{ adapter.quote(column_name) }} type {{ new_column_type }}
  {% endcall %}
{%- endmacro %}

{% macro hoodoo__alter_relation_add_remove_columns(relation, add_columns, remove_columns) -%}
  {% if remove_columns %}
    {% call statement('remove_columns') %}
      alter table {{ relation.render() }} drop columns ({{ remove_columns | map(attribute='quoted') | join(', ') }})
    {% endcall %}
  {% endif %}
  {% if add_columns %}
    {% call statement('add_columns') %}
      alter table {{ relation.render() }} add columns (
        {%- for column in add_columns %}{{ column.quoted }} {{ column.data_type }}{{ ", " if not loop.last }}{% endfor -%}
      )
    {% endcall %}
  {% endif %}
{%- endmacro %}

{% macro hoodoo__create_columns(relation, columns) -%}
  {% if columns %}{% do hoodoo__alter_relation_add_remove_columns(relation, columns, none) %}{% endif %}
{%- endmacro %}

{% macro hoodoo__truncate_relation(relation) -%}
  {% call statement('truncate_relation') -%}
    truncate table {{ relation.render() }}
  {%- endcall %}
{%- endmacro %}

{% macro hoodoo__validate_sql(sql) -%}
  {% call statement('validate_sql') -%}
    describe select * from (
      {{ sql }}
    ) as validated
  {%- endcall %}
  {{ return(load_result('validate_sql')) }}
{%- endmacro %}

{% macro hoodoo__apply_grants(relation, grant_config, should_revoke=True) -%}
  {% if grant_config %}
    {% do exceptions.raise_compiler_error("grants of " ~ relation ~ ": are not stored with a table. Fix: Grant access to its folder, or in the catalog.") %}
  {% endif %}
{%- endmacro %}

{% macro hoodoo__persist_docs(relation, model, for_relation, for_columns) -%}
  {% if (for_relation and config.persist_relation_docs()) or (for_columns and config.persist_column_docs()) %}
    {% do exceptions.raise_compiler_error("persist_docs of " ~ relation ~ ": comments are not stored with a table. Fix: Leave persist_docs out; dbt docs shows the descriptions.") %}
  {% endif %}
{%- endmacro %}

{% macro hoodoo__get_relation_last_modified(information_schema, relations) -%}
  {% do exceptions.raise_compiler_error("freshness: has no loaded_at_field. Fix: Name a column: loaded_at_field: updated_at.") %}
{%- endmacro %}
