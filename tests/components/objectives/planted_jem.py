"""Bugs planted in `jem`, the proofs that look for them, and changes that are as right."""

from tests.components.objectives.proofs import batches, classifier, labelled, stage
from tests.planting import Planted

PROOFS = [
    labelled("without_weight_it_is_a_plain_classifier", (2,)),
    labelled("the_generative_part_is_maximum_likelihood", (2,), 0.3),
    classifier("one_network_is_a_joint_energy_and_its_conditional", (2,), "silu", 0.5),
    batches("labels_go_with_their_points"),
    stage("a_later_stage_has_the_labels_of_its_own_batches"),
]

BUGS = [
    Planted(
        "cross-entropy over the batch",
        "jem",
        "components/objectives/jem.py",
        "torch.nn.functional.cross_entropy(logits, context.labels)",
        "-logits.log_softmax(0).gather(1, context.labels.unsqueeze(1)).mean()",
    ),
    Planted(
        "cross-entropy summed",
        "jem",
        "components/objectives/jem.py",
        "torch.nn.functional.cross_entropy(logits, context.labels)",
        "torch.nn.functional.cross_entropy(logits, context.labels, reduction='sum')",
    ),
    Planted(
        "weight on the other term",
        "jem",
        "components/objectives/jem.py",
        "cross_entropy + self.weight * generative.value",
        "self.weight * cross_entropy + generative.value",
    ),
    Planted(
        "penalty not handed on",
        "jem",
        "components/objectives/jem.py",
        "MLE(sampler=self.sampler, init=self.init, energy_l2=self.energy_l2)",
        "MLE(sampler=self.sampler, init=self.init)",
    ),
    Planted(
        "marginal energy upside down",
        "jem",
        "components/models/nets/classifier.py",
        "energy = -self.logits(x).logsumexp(1)",
        "energy = self.logits(x).logsumexp(1)",
    ),
    Planted(
        "the conditional's share in the gradient of a chain",
        "jem",
        "components/models/nets/classifier.py",
        "logits.softmax(1)",
        "logits.softmax(0)",
    ),
    Planted(
        "labels of the step after",
        "jem",
        "engine/batches.py",
        "self._rows(self.labels, step)",
        "self._rows(self.labels, step + 1)",
    ),
    Planted(
        "labels counted from the first stage",
        "jem",
        "engine/stage.py",
        "self.batches.labels_at(step - self.state.stage_began)",
        "self.batches.labels_at(step)",
    ),
]

AS_RIGHT: list[Planted] = [
    Planted(
        "cross-entropy written out",
        "jem",
        "components/objectives/jem.py",
        "torch.nn.functional.cross_entropy(logits, context.labels)",
        "-logits.log_softmax(1).gather(1, context.labels.unsqueeze(1)).mean()",
    )
]
