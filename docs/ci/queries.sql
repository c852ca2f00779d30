-- Five questions about all repositories of an organisation, for DuckDB: duckdb -c ".read queries.sql"
-- Each repository's `nodelint check --format jsonl=NAME.jsonl` lies in the folder `findings/`.

create or replace view records as
  select * from read_json_auto('findings/*.jsonl', format = 'newline_delimited', union_by_name = true);
create or replace view findings as select * from records where record = 'finding';
create or replace view objects as select * from records where record = 'object';

-- 1. The causes that stop nodes in most repositories.
select rule, severity, count(distinct repository) as repositories, count(*) as findings,
       count(*) filter (where fix is not null) as fixable
from findings where severity = 'error' group by rule, severity order by repositories desc, findings desc, rule;

-- 2. The releases of Karpenter in use, and how many repositories state none.
select case when stated is null then 'not stated' else karpenter end as release,
       count(distinct repository) as repositories, count(*) as objects
from objects group by release order by repositories desc, release;

-- 3. What a release refuses: of runs with `--karpenter-version`, the releases are told apart.
select karpenter, rule, count(distinct repository) as repositories, min(message) as example
from findings where "group" = 'correctness' and severity = 'error' and subject in ('migration', 'objects')
group by karpenter, rule order by karpenter, repositories desc, rule;

-- 4. The repositories with most to do, and what one command would fix.
select repository, count(*) filter (where severity = 'error') as errors,
       count(*) filter (where severity = 'warning') as warnings, count(*) filter (where fix = 'safe') as safe_fixes
from findings group by repository order by errors desc, warnings desc, repository;

-- 5. Image aliases that follow `latest`, or that a Kubernetes upgrade ends.
select repository, path, line, message
from findings where subject = 'images' order by repository, path, line;
