//! hudi-rs as a process that Python drives: one JSON object a line on stdin, one answer a line on stdout.
//!
//! A request names what to do and the table: {"do": "upsert", "table": "/path", "rows": "/in.arrow"}. Rows travel as
//! files of the Arrow IPC format, as both sides read these without a conversion of types. The answer is {"ok": ...} or
//! {"error": "..."}; after an error the process goes on. Each request opens the table anew, as a job that writes once
//! does. The process ends with its stdin.

use std::fs::File;
use std::io::{BufRead, Write};
use std::panic::AssertUnwindSafe;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::FileWriter;
use futures::FutureExt;
use hudi_core::config::table::TableTypeValue;
use hudi_core::table::{HoodieKey, QueryType, ReadOptions, Table};
use hudi_core::write::{UpsertOptions, WriteResult};
use serde_json::{json, Value};

type Answer = Result<Value, Box<dyn std::error::Error>>;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    // A panic of the library is an answer like any other error, and its place belongs into it.
    std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("stdin is text");
        let answer = match AssertUnwindSafe(answered(&line)).catch_unwind().await {
            Ok(Ok(value)) => json!({ "ok": value }),
            Ok(Err(error)) => json!({ "error": error.to_string() }),
            Err(panic) => json!({ "error": format!("panic: {}", message(panic)) }),
        };
        let mut out = std::io::stdout().lock();
        writeln!(out, "{answer}").and_then(|_| out.flush()).expect("stdout is open");
    }
}

async fn answered(line: &str) -> Answer {
    let request: Value = serde_json::from_str(line)?;
    let path = text(&request, "table").ok_or("the request names no table")?;
    let verb = text(&request, "do").unwrap_or_default();
    if verb == "create" {
        return create(path, &request).await;
    }
    let mut table = Table::new_with_options(path, options(&request)).await?;
    let result = match verb {
        "append" => table.append(rows(&request)?).await?,
        "upsert" => {
            let columns = names(&request, "columns");
            let update_columns = (!columns.is_empty()).then_some(columns);
            table.upsert_with(rows(&request)?, UpsertOptions { update_columns }).await?
        }
        "update" => {
            let values = rows(&request)?.pop().ok_or("an update needs one row")?;
            table.update(filter(&request), values).await?
        }
        "delete" => table.delete(filter(&request)).await?,
        "delete_keys" => table.delete_keys(keys(&rows(&request)?)).await?,
        "overwrite" => table.overwrite(rows(&request)?).await?,
        "overwrite_partitions" => table.dynamic_partition_overwrite(rows(&request)?).await?,
        "compact" => {
            let done = table.compact().await?;
            return Ok(json!({ "instant": done.requested_time, "groups": done.num_file_groups }));
        }
        "read" => return read(&table, &request).await,
        _ => return Err(format!("{verb:?} is no request").into()),
    };
    Ok(written(&result))
}

/// A new table: "type" (cow or mor), "key", "partition", "ordering" (lists of columns), "metadata", "record_index",
/// "version", and "options" of Hudi's names.
async fn create(path: &str, request: &Value) -> Answer {
    let kind = if text(request, "type") == Some("mor") {
        TableTypeValue::MergeOnRead
    } else {
        TableTypeValue::CopyOnWrite
    };
    let mut table = Table::create(path)
        .with_table_name(text(request, "name").unwrap_or("made_by_hudi_rs"))
        .with_table_type(kind)
        .with_record_key_fields(names(request, "key"))
        .with_partition_fields(names(request, "partition"))
        .with_ordering_fields(names(request, "ordering"));
    if let Some(on) = request["metadata"].as_bool() {
        table = table.with_metadata_table_enabled(on);
    }
    if let Some(on) = request["record_index"].as_bool() {
        table = table.with_record_index_enabled(on);
    }
    if let Some(version) = request["version"].as_i64() {
        table = table.with_table_version(version as isize);
    }
    for (name, value) in options(request) {
        table = table.with_option(name, value);
    }
    table.create().await?;
    Ok(Value::Null)
}

/// Write the rows to the file "to", if it is named and there are any: "filters" (lists of column, operator, text), "as_of", and "start"
/// and "end" of an incremental read.
async fn read(table: &Table, request: &Value) -> Answer {
    let mut how = ReadOptions::new();
    if let Some(instant) = text(request, "as_of") {
        how = how.with_as_of_timestamp(instant);
    }
    if request.get("start").is_some() || request.get("end").is_some() {
        how = how.with_query_type(QueryType::Incremental);
    }
    if let Some(instant) = text(request, "start") {
        how = how.with_start_timestamp(instant);
    }
    if let Some(instant) = text(request, "end") {
        how = how.with_end_timestamp(instant);
    }
    let filters: Vec<(String, String, String)> =
        serde_json::from_value(request.get("filters").cloned().unwrap_or(json!([])))?;
    if !filters.is_empty() {
        let filters: Vec<_> = filters.iter().map(|(a, b, c)| (a.as_str(), b.as_str(), c.as_str())).collect();
        how = how.with_filters(filters)?;
    }
    let batches = table.read(&how).await?;
    let count: usize = batches.iter().map(RecordBatch::num_rows).sum();
    if let (Some(first), Some(to)) = (batches.first(), text(request, "to")) {
        let mut writer = FileWriter::try_new(File::create(to)?, &first.schema())?;
        for batch in &batches {
            writer.write(batch)?;
        }
        writer.finish()?;
    }
    Ok(json!({ "rows": count, "batches": batches.len() }))
}

fn written(result: &WriteResult) -> Value {
    json!({
        "instant": result.requested_time,
        "inserted": result.num_inserts,
        "updated": result.num_updates,
        "deleted": result.num_deletes,
    })
}

fn rows(request: &Value) -> Result<Vec<RecordBatch>, Box<dyn std::error::Error>> {
    let path = text(request, "rows").ok_or("the request names no rows")?;
    Ok(FileReader::try_new(File::open(path)?, None)?.collect::<Result<Vec<_>, _>>()?)
}

/// Column 0 of the rows: keys as they are stored; column 1: their partition paths.
fn keys(batches: &[RecordBatch]) -> Vec<HoodieKey> {
    let mut found = vec![];
    for batch in batches {
        let (keys, paths) = (batch.column(0).as_string::<i32>(), batch.column(1).as_string::<i32>());
        for row in 0..keys.len() {
            found.push(HoodieKey {
                record_key: keys.value(row).to_string(),
                partition_path: paths.value(row).to_string(),
            });
        }
    }
    found
}

fn filter(request: &Value) -> &str {
    text(request, "filter").unwrap_or_default()
}

fn text<'a>(request: &'a Value, name: &str) -> Option<&'a str> {
    request.get(name).and_then(Value::as_str)
}

fn names(request: &Value, name: &str) -> Vec<String> {
    let list = request.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    list.iter().filter_map(Value::as_str).map(String::from).collect()
}

fn options(request: &Value) -> Vec<(String, String)> {
    let Some(options) = request.get("options").and_then(Value::as_object) else {
        return vec![];
    };
    options.iter().map(|(k, v)| (k.clone(), v.as_str().map_or_else(|| v.to_string(), String::from))).collect()
}

fn message(panic: Box<dyn std::any::Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(other) => other.downcast::<&str>().map_or_else(|_| "unknown".into(), |text| text.to_string()),
    }
}
