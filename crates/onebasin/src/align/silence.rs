//! Takes the vote from units: whatever touches them counts nothing.

use super::objective::Feature;
use crate::symmetry::Spec;

/// Sets the features of all parameters that touch silent units to zero; `silent` are the units of the side that stays and
/// those of the side that moves, (group, unit).
pub(super) fn silence(spec: &Spec, features: &mut [Feature<'_>], silent: [&[Vec<bool>]; 2]) {
    for (side, silent) in silent.into_iter().enumerate() {
        let sizes = silent.iter().map(Vec::len);
        assert!(sizes.eq(spec.groups().iter().map(|group| group.size)), "one vote for each unit of each group");
        let mut places = Vec::new();
        for patch in spec.patches() {
            patch.for_each(spec.groups(), |place, units| {
                if patch.axes.iter().zip(units).any(|((group, _), unit)| silent[*group][*unit]) {
                    places.push(place);
                }
            });
        }
        if places.is_empty() {
            continue;
        }
        for feature in &mut *features {
            let values = if side == 0 { feature.fixed.to_mut() } else { feature.moved.to_mut() };
            for place in &places {
                values[*place] = 0.0;
            }
        }
    }
}
