"""The laws that every component of a kind obeys, for those who write components.

    from ebmkit.testing import check_component

    check_component(MySampler)                    # raises with every law that it breaks
    check_component(MyData(path="points.npz"))    # an instance, where a class alone does not say enough
    check_component(MySampler, partners=[MyRBM()])    # a model to run it on, where none in its package will do

`trials` gives the same as cases for pytest, `laws_of` the laws of a kind.
"""

from ebmkit.testing.law import Inapplicable
from ebmkit.testing.laws import laws_of
from ebmkit.testing.trial import Broken, Report, Trial, Unexamined, check_component, examine, trials

__all__ = ["Broken", "Inapplicable", "Report", "Trial", "Unexamined", "check_component", "examine", "laws_of", "trials"]
