//! Invented names, not meant to be anyone's.

use super::rng::Rng;

const PLACES: &[&str] = &[
    "Alder Bay",
    "Ashford",
    "Birch Falls",
    "Blackwater",
    "Bramble Hill",
    "Cedar Point",
    "Clearbrook",
    "Copper Ridge",
    "Dunmore",
    "Eastvale",
    "Elkhorn",
    "Fairmeadow",
    "Foxglove",
    "Granite Pass",
    "Greystone",
    "Harrow",
    "Hazelwood",
    "Ironbridge",
    "Juniper",
    "Kestrel Bay",
    "Kingsmere",
    "Larkspur",
    "Linden",
    "Maplewood",
    "Marlow",
    "Millbrook",
    "Northgate",
    "Oak Harbor",
    "Pinecrest",
    "Quarry Lake",
    "Ravenna Hills",
    "Redwater",
    "Rosehill",
    "Saltmarsh",
    "Silver Creek",
    "Stonebridge",
    "Thornbury",
    "Umberland",
    "Valemont",
    "Westbrook",
    "Willow Springs",
    "Wrenfield",
    "Yarrow",
];
const NICKNAMES: &[&str] = &[
    "Badgers",
    "Comets",
    "Cranes",
    "Drifters",
    "Falconers",
    "Foundry",
    "Gales",
    "Herons",
    "Lanterns",
    "Lynxes",
    "Mariners",
    "Millers",
    "Otters",
    "Pilots",
    "Quarrymen",
    "Rangers",
    "Sparks",
    "Stags",
    "Tides",
    "Voyagers",
    "Wolves",
    "Wranglers",
];
const CONFERENCES: &[&str] = &[
    "Harbor",
    "Highland",
    "Prairie",
    "Canyon",
    "Lakeshore",
    "Summit",
    "Timber",
    "Coastal",
    "Delta",
    "Frontier",
    "Orchard",
    "Riverbend",
    "Sunrise",
    "Tidewater",
    "Valley",
    "Plateau",
];
const FIRST: &[&str] = &[
    "Aaron", "Amari", "Andre", "Anton", "Blake", "Caleb", "Carter", "Cole", "Damon", "Darius", "Desmond", "Devin",
    "Eli", "Emil", "Ezra", "Felix", "Grant", "Hugo", "Isaac", "Ivan", "Jalen", "Jonah", "Jordan", "Julian", "Kai",
    "Keenan", "Lamar", "Leo", "Luka", "Marcus", "Mateo", "Micah", "Nico", "Noah", "Omar", "Owen", "Quinn", "Rafael",
    "Reese", "Rory", "Silas", "Terrence", "Theo", "Tobias", "Trey", "Victor", "Wesley", "Xavier", "Zane", "Zeke",
];
const FIRST_WOMEN: &[&str] = &[
    "Ada", "Alana", "Amara", "Anya", "Aria", "Bianca", "Brooke", "Camille", "Cora", "Dana", "Delia", "Elena", "Esme",
    "Fiona", "Gia", "Hazel", "Imani", "Iris", "Jada", "Jolie", "Kara", "Kiana", "Laila", "Lena", "Maya", "Mila",
    "Nadia", "Naomi", "Nia", "Olive", "Paige", "Quinn", "Raven", "Rhea", "Sasha", "Selah", "Talia", "Tess", "Uma",
    "Vera", "Willa", "Yara", "Zoe", "Zuri",
];
const LAST: &[&str] = &[
    "Abernathy",
    "Adeyemi",
    "Barlow",
    "Bell",
    "Brandt",
    "Calloway",
    "Castellano",
    "Cross",
    "Dawson",
    "Delacroix",
    "Dupree",
    "Eastman",
    "Ellison",
    "Faraday",
    "Fenn",
    "Gallagher",
    "Garrity",
    "Hale",
    "Hargrove",
    "Hollis",
    "Ibarra",
    "Jansen",
    "Keller",
    "Kovac",
    "Lang",
    "Lindqvist",
    "Lowell",
    "Maddox",
    "Mbeki",
    "Mercer",
    "Navarro",
    "Nolan",
    "O'Hara",
    "Okafor",
    "Osei",
    "Pace",
    "Pruitt",
    "Quill",
    "Rhodes",
    "Rourke",
    "Sandoval",
    "Sato",
    "Sinclair",
    "Sorensen",
    "St. James",
    "Tate",
    "Thorne",
    "Tolliver",
    "Underwood",
    "Vance",
    "Vasquez",
    "Waverly",
    "Whitlock",
    "Yates",
    "Zamora",
    "Żak",
];

/// The place and the nickname of team `index`: no two teams share both before 946 teams.
pub(super) fn team(index: usize) -> (&'static str, &'static str) {
    // The lists' lengths are coprime, so a pair recurs only after their product.
    (PLACES[index % PLACES.len()], NICKNAMES[index % NICKNAMES.len()])
}

pub(super) fn conference(index: usize) -> String {
    let name = CONFERENCES[index % CONFERENCES.len()];
    match index / CONFERENCES.len() {
        0 => format!("{name} Conference"),
        more => format!("{name} Conference {}", more + 1),
    }
}

pub(super) fn first(rng: &mut Rng, women: bool) -> &'static str {
    let names = if women { FIRST_WOMEN } else { FIRST };
    names[rng.index(names.len())]
}

pub(super) fn last(rng: &mut Rng) -> &'static str {
    LAST[rng.index(LAST.len())]
}
