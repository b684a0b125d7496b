"""Statements that try to reach more than the archive: none may succeed in `Archive.sql` or in `sideline mcp`."""

from __future__ import annotations

ESCAPES = """\
copy shots to '{out}'
copy (select 1) to '{out}' (format parquet)
export database '{out}'
import database '{folder}'
attach '{out}' as other
attach ':memory:' as other
detach memory
use memory
install httpfs
load httpfs
load '{secret}'
pragma database_list
pragma version
set threads = 1
set enable_external_access = true
reset lock_configuration
call pragma_version()
checkpoint
vacuum
begin
prepare p as select 1
execute p
explain analyze select 1
create table t as select 1
create view v as select 1
create macro f(x) as x
create secret s (type s3)
insert into shots select * from shots
update shots set points = 0
delete from shots
drop view shots
alter table shots rename to other
select 1; copy shots to '{out}'
select 1; select 2
select * from '{secret}'
select * from read_csv('{secret}')
select * from read_text('{secret}')
select * from read_blob('{secret}')
select * from read_json('{secret}')
select * from read_parquet('{secret}')
select * from parquet_metadata('{secret}')
select * from parquet_schema('{secret}')
select * from sniff_csv('{secret}')
select * from glob('{folder}/*')
select * from 'https://example.com/a.csv'
select * from query('copy shots to ''{out}''')
select * from query_table('{secret}')
select getenv('HOME')
select * from python_variable
""".splitlines()
