//! The teams of a season.

use super::names;
use crate::model::team::Team;
use crate::sport::Sport;

pub(super) const FIRST_ID: i64 = 1001;
const TEAMS_OF_A_CONFERENCE: usize = 12;
/// From this number on, half of the teams are women's; a small league stays one, in which all teams meet.
const MIXED_FROM: usize = 32;

pub(super) fn teams(sport: Sport, count: usize) -> Vec<Team> {
    let men = men_among(sport, count);
    (0..count)
        .map(|index| {
            let (place, nickname) = names::team(index);
            // Names of one league are unique; the second lap of the lists adds a number.
            let lap = index / 946;
            let name = if lap == 0 { format!("{place} {nickname}") } else { format!("{place} {nickname} {}", lap + 1) };
            let gender = if index < men { "MEN" } else { "WOMEN" };
            // Conferences do not mix men's and women's teams.
            let conference = if index < men {
                index / TEAMS_OF_A_CONFERENCE
            } else {
                men.div_ceil(TEAMS_OF_A_CONFERENCE) + (index - men) / TEAMS_OF_A_CONFERENCE
            };
            Team {
                id: FIRST_ID + index as i64,
                name,
                gender: gender.to_owned(),
                conference_name: names::conference(conference),
                league_name: "SIM".to_owned(),
                sport: sport_name(sport).to_owned(),
                reference_id: format!("SIM-T{}", FIRST_ID + index as i64),
            }
        })
        .collect()
}

/// The first teams, this many, are men's; the others, if any, are women's.
pub(super) fn men_among(sport: Sport, count: usize) -> usize {
    if sport == Sport::Basketball && count >= MIXED_FROM { count - count / 2 } else { count }
}

pub(super) fn sport_name(sport: Sport) -> &'static str {
    match sport {
        Sport::Basketball => "BASKETBALL",
        Sport::Football => "FOOTBALL",
    }
}

/// The position of a team in the list.
pub(super) fn index_of(team_id: i64, count: usize) -> Option<usize> {
    usize::try_from(team_id.checked_sub(FIRST_ID)?).ok().filter(|index| *index < count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_big_league_has_unique_names_and_conferences_of_one_gender() {
        let all = teams(Sport::Basketball, 370);
        assert_eq!(all.iter().map(|team| &team.name).collect::<BTreeSet<_>>().len(), 370);
        let pairs: BTreeSet<_> = all.iter().map(|team| (&team.conference_name, &team.gender)).collect();
        let conferences: BTreeSet<_> = all.iter().map(|team| &team.conference_name).collect();
        assert_eq!(pairs.len(), conferences.len());
        assert!(all.iter().any(|team| team.gender == "WOMEN"));
    }

    #[test]
    fn a_small_league_is_one() {
        assert!(teams(Sport::Basketball, 16).iter().all(|team| team.gender == "MEN"));
    }
}
