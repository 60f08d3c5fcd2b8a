{{ config(materialized="table") }}
SELECT day, city, count(*) AS orders, sum(cents) / 100.0 AS revenue
FROM {{ source("lake", "orders") }}
WHERE state = 'paid'
GROUP BY day, city
