//! The players of a team, their skills, and the departed.

use super::figures::THREES;
use super::rng::Rng;
use super::schedule::SeasonPlan;
use super::{links, names};
use crate::model::roster::{Player, PlayerImages, Roster, SpecialService, TeamImages};
use crate::model::stats::PlayerDetails;
use crate::model::team::Team;
use crate::sport::Sport;
use std::sync::Arc;

/// Players of a team have consecutive ids; this many are reserved for each team.
pub(super) const IDS_OF_A_TEAM: i64 = 64;
const FIRST_PLAYER_ID: i64 = 200_001;
const FIRST_SENSOR: i64 = 100_001;

/// A player's skills: weights relative to team mates, and shifts of probabilities in permille.
#[derive(Debug, Clone)]
pub(crate) struct Skills {
    pub usage: i64,
    pub threes: i64,
    pub touch: i64,
    pub free_throws: i64,
    pub boards: i64,
    pub passing: i64,
    pub hands: i64,
    /// Distance covered while the clock runs, in cm per second.
    pub pace: i64,
}

#[derive(Debug, Clone)]
pub(crate) struct TeamMember {
    pub player: Player,
    pub skills: Skills,
    /// When the player left the team, if so.
    pub left_at: Option<i64>,
}

impl TeamMember {
    pub(crate) fn details(&self) -> PlayerDetails {
        PlayerDetails {
            id: self.player.id,
            firstname: self.player.first_name.clone(),
            lastname: self.player.last_name.clone(),
            profile_image_link: self.player.profile_image_link.clone(),
        }
    }
}

/// How many players are active, and how many of them start.
fn squad(sport: Sport, rng: &mut Rng) -> (usize, usize) {
    match sport {
        Sport::Basketball => (rng.within(12, 14) as usize, 5),
        Sport::Football => (rng.within(30, 34) as usize, 22),
    }
}

/// Everybody who was on the team during the season: the starters, the bench, the departed.
pub(super) fn members(seed: u64, sport: Sport, index: usize, team: &Team, plan: &SeasonPlan) -> Vec<Arc<TeamMember>> {
    let mut rng = Rng::with_key(seed, &[0x205E, index as u64]);
    let (active, starters) = squad(sport, &mut rng);
    let departures = [0, 1, 1, 2][rng.index(4)];
    let mut jerseys = jerseys(sport);
    rng.shuffle(&mut jerseys);
    let span = plan.ends_at - plan.starts_at;
    (0..active + departures)
        .map(|slot| {
            let position = position(sport, slot, &mut rng);
            let left_at = (slot >= active).then(|| plan.starts_at + span * rng.within(20, 60) / 100);
            let id = FIRST_PLAYER_ID + index as i64 * IDS_OF_A_TEAM + slot as i64;
            let (first, last) = (names::first(&mut rng, team.gender == "WOMEN"), names::last(&mut rng));
            let jersey = &jerseys[slot % jerseys.len()];
            Arc::new(TeamMember {
                skills: skills(&mut rng, position, slot < starters),
                player: Player {
                    id,
                    first_name: first.to_owned(),
                    last_name: last.to_owned(),
                    jersey_number: jersey.parse().unwrap_or(0),
                    jersey_number_str: jersey.clone(),
                    position: position.to_owned(),
                    profile_image_link: links::profile(id),
                    display_name: format!("{}. {last}", &first[..1]),
                    is_active: left_at.is_none(),
                    special_services: special_services(&mut rng, slot),
                    reference_id: format!("SIM-P{id}"),
                    sensor: FIRST_SENSOR + (index as i64 * IDS_OF_A_TEAM + slot as i64),
                    is_starter: slot < starters,
                    is_scout: slot + 1 == active && rng.chance(500),
                    team_player_images: images(id),
                },
                left_at,
            })
        })
        .collect()
}

/// The roster as the service shows it: the active players; with a game all who were on the team then.
pub(super) fn roster(team: &Team, members: &[Arc<TeamMember>], at: Option<i64>) -> Roster {
    let players = members.iter().filter(|member| match (member.left_at, at) {
        (None, _) => true,
        (Some(left_at), Some(at)) => at < left_at,
        (Some(_), None) => false,
    });
    let id = team.id;
    let logo = |kind: &str| links::image(&format!("teams/{id}/{kind}"));
    Roster {
        team: team.clone(),
        logo_image_link: links::logo(id),
        team_images: TeamImages {
            logo_small_light: logo("logo_small_light"),
            logo_small_dark: logo("logo_small_dark"),
            logo_small_light_transparent: logo("logo_small_light_transparent"),
            logo_small_dark_transparent: logo("logo_small_dark_transparent"),
            logo_light: logo("logo_light"),
            logo_dark: logo("logo_dark"),
            logo_light_transparent: logo("logo_light_transparent"),
            logo_dark_transparent: logo("logo_dark_transparent"),
        },
        players: players.map(|member| member.player.clone()).collect(),
    }
}

/// Basketball jerseys use only the digits 0 to 5, which officials can show with two hands; "00" is not "0".
fn jerseys(sport: Sport) -> Vec<String> {
    match sport {
        Sport::Football => (1..100).map(|number| number.to_string()).collect(),
        Sport::Basketball => {
            let two = (1..=5).flat_map(|tens| (0..=5).map(move |units| format!("{tens}{units}")));
            (0..=5).map(|number| number.to_string()).chain(["00".to_owned()]).chain(two).collect()
        }
    }
}

fn position(sport: Sport, slot: usize, rng: &mut Rng) -> &'static str {
    const STARTING_FIVE: [&str; 5] = ["G", "G", "F", "F", "C"];
    const BENCH: [&str; 5] = ["G", "F", "G", "F", "C"];
    const FOOTBALL: [&str; 11] = ["QB", "RB", "WR", "WR", "TE", "OL", "OL", "DL", "LB", "CB", "S"];
    match sport {
        Sport::Football => FOOTBALL[slot % FOOTBALL.len()],
        Sport::Basketball if slot < 5 => STARTING_FIVE[slot],
        Sport::Basketball => BENCH[rng.index(BENCH.len())],
    }
}

fn skills(rng: &mut Rng, position: &str, starter: bool) -> Skills {
    let big = position == "C";
    let guard = position == "G";
    let threes = THREES[usize::from(!big)];
    // Two numbers of one draw: what a player can do does not change who comes after.
    let usage = rng.below(105 * 231);
    Skills {
        usage: 45 + usage / 231 + if starter { usage % 231 } else { 0 },
        threes: rng.within(threes.0, threes.1),
        touch: rng.within(-30, 30),
        free_throws: if big { rng.within(575, 695) } else { rng.within(650, 810) },
        boards: if big {
            rng.within(170, 260)
        } else if guard {
            rng.within(50, 110)
        } else {
            rng.within(110, 190)
        },
        passing: if guard { rng.within(150, 280) } else { rng.within(50, 120) },
        hands: rng.within(60, 140) + if guard { 40 } else { 0 },
        pace: if big { rng.within(165, 190) } else { rng.within(180, 215) },
    }
}

/// At most two players of a team: one wears a microphone, one is followed by a camera.
fn special_services(rng: &mut Rng, slot: usize) -> Vec<SpecialService> {
    let mut services = Vec::new();
    if slot == 1 && rng.chance(600) {
        services.push(SpecialService { kind: "MIC".to_owned(), value: format!("mic{}", rng.within(1, 9)) });
    }
    if slot == 3 && rng.chance(400) {
        services.push(SpecialService { kind: "VIDEO".to_owned(), value: format!("cam{}", rng.within(1, 4)) });
    }
    services
}

fn images(id: i64) -> PlayerImages {
    let image = |kind: &str| links::image(&format!("players/{id}/{kind}"));
    PlayerImages {
        image_light: image("image_light"),
        image_dark: image("image_dark"),
        image_light_transparent: image("image_light_transparent"),
        image_dark_transparent: image("image_dark_transparent"),
        headshot_light: image("headshot_light"),
        headshot_dark: image("headshot_dark"),
        headshot_transparent: image("headshot_transparent"),
        image_profile: image("image_profile"),
    }
}
