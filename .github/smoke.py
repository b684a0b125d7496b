"""Whether an installed package works: a season is served and read, with nothing else installed. The release runs it for each wheel."""

import sideline

with sideline.Simulator(seed=7, teams=4, games=8) as service, service.client() as client:
    game = client.game(service.games[0]["event_id"])
    session = game.table("sessions").to_dicts()[0]["session_id"]
    lines = client.stats(session).table("box_score").to_dicts()
    assert sum(line["PTS"] or 0 for line in lines) > 0, lines
    print(f"sideline {sideline.__version__}: {len(lines)} lines of a box score")
