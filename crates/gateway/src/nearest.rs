//! The nearest existing names to one that does not exist.

/// Below this similarity (0 to 1) a name is no help.
const ALIKE: f64 = 0.65;

/// Up to `count` of the candidates that look like the name, best first.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl Iterator<Item = &'a str>,
    count: usize,
) -> Vec<&'a str> {
    let name = name.to_lowercase();
    let mut alike: Vec<(f64, &str)> = candidates
        .map(|candidate| {
            (
                strsim::jaro_winkler(&name, &candidate.to_lowercase()),
                candidate,
            )
        })
        .filter(|(similarity, _)| *similarity >= ALIKE)
        .collect();
    alike.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(right.1)));
    alike
        .into_iter()
        .take(count)
        .map(|(_, name)| name)
        .collect()
}
