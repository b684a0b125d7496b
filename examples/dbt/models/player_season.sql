-- Points, rebounds and assists of each player over the season.
select
    team_id,
    player_id,
    any_value(first_name) as first_name,
    any_value(last_name) as last_name,
    count(distinct game_id) as games,
    sum("PTS") as points,
    sum("REB") as rebounds,
    sum("AST") as assists
from {{ source('sideline', 'box_score') }}
where not is_team_total
group by team_id, player_id
