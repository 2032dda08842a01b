"""The mortality of beetles by the dose of a poison: the standard example of a regression for proportions.

Bliss, "The calculation of the dosage-mortality curve", Annals of Applied Biology 22, 1935, table 4: beetles that were
exposed to gaseous carbon disulphide for five hours.
"""

from __future__ import annotations

#: log10 of the dose in mg/l, the number of beetles exposed to it, and the number that died.
GROUPS = (
    (1.6907, 59, 6),
    (1.7242, 60, 13),
    (1.7552, 62, 18),
    (1.7842, 56, 28),
    (1.8113, 63, 52),
    (1.8369, 59, 53),
    (1.8610, 62, 61),
    (1.8839, 60, 60),
)

#: One row per beetle: its dose, and whether it died.
DOSES = [dose for dose, exposed, _ in GROUPS for _ in range(exposed)]
DIED = [k < died for _, exposed, died in GROUPS for k in range(exposed)]
