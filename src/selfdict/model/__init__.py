"""The model: problem, losses, the set Ω, the solution, and its dual bound."""

from selfdict.model.certificate import certify as certify
from selfdict.model.losses import Huber as Huber
from selfdict.model.losses import Loss as Loss
from selfdict.model.losses import Squared as Squared
from selfdict.model.losses import Weighted as Weighted
from selfdict.model.omega import project_omega as project_omega
from selfdict.model.problem import Problem as Problem
from selfdict.model.solution import Callback as Callback
from selfdict.model.solution import Progress as Progress
from selfdict.model.solution import Reduction as Reduction
from selfdict.model.solution import Solution as Solution
from selfdict.model.solution import Status as Status
from selfdict.model.solution import lift as lift
