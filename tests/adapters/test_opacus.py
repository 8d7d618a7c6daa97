"""The accountant of Opacus: its interface, a real training loop, its calibration, what is refused."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from math import inf
from unittest import TestCase

import opacus
import peer_suite
import pytest
import torch
from opacus.accountants import PRVAccountant, RDPAccountant, create_accountant, register_accountant
from opacus.accountants.accountant import IAccountant
from opacus.accountants.utils import get_noise_multiplier
from opacus.utils.batch_memory_manager import BatchMemoryManager
from torch.utils.data import DataLoader, TensorDataset

import zcdp
from zcdp.adapters import opacus as zx

pytestmark = pytest.mark.filterwarnings("ignore")


def loader(batch: int = 8) -> DataLoader:
    torch.manual_seed(1)
    return DataLoader(TensorDataset(torch.randn(64, 4), torch.randint(0, 2, (64,))), batch_size=batch)


def private(engine: opacus.PrivacyEngine, batch: int = 8, **options: object) -> tuple:
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return engine.make_private(
        module=model,
        optimizer=optimizer,
        data_loader=loader(batch),
        noise_multiplier=1.1,
        max_grad_norm=1.0,
        **options,
    )


def train(model: torch.nn.Module, optimizer: object, data: DataLoader, steps: int) -> None:
    done = 0
    while done < steps:
        for x, y in data:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
            done += 1
            if done == steps:
                break


def test_it_is_an_accountant_as_published() -> None:
    assert issubclass(zx.Accountant, IAccountant)
    for name, theirs in inspect.getmembers(IAccountant, inspect.isfunction):
        ours = inspect.signature(getattr(zx.Accountant, name)).parameters
        wanted = [
            p.name
            for p in inspect.signature(theirs).parameters.values()
            if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]
        assert [one for one in wanted if one not in ours] == [], name


def test_three_steps_cost_what_they_cost_by_hand() -> None:
    engine = opacus.PrivacyEngine()
    engine.accountant = zx.Accountant()
    model, optimizer, data = private(engine)
    engine.accountant.check(data)
    train(model, optimizer, data, 3)
    assert len(engine.accountant) == 3
    by_hand = 3 * zcdp.Subsampled(zcdp.Gaussian(sigma=1.1), rate="1/8")
    assert engine.get_epsilon(1e-5) == by_hand.epsilon_at(delta=1e-5)
    lower, upper = engine.accountant.get_epsilon_bounds(1e-5)
    assert upper - lower < 1e-9
    theirs = RDPAccountant()
    theirs.history = list(engine.accountant.history)
    assert upper < theirs.get_epsilon(1e-5)


def test_the_registry_and_the_calibration() -> None:
    zx.register()
    assert isinstance(create_accountant("zcdp"), zx.Accountant)
    sigma = get_noise_multiplier(target_epsilon=2.0, target_delta=1e-5, sample_rate=0.02, steps=500, accountant="zcdp")
    looser = get_noise_multiplier(target_epsilon=2.0, target_delta=1e-5, sample_rate=0.02, steps=500, accountant="rdp")
    training = 500 * zcdp.Subsampled(zcdp.Gaussian(sigma=sigma), rate=0.02)
    assert training.epsilon_at(delta=1e-5) <= 2
    assert sigma < looser
    engine = opacus.PrivacyEngine(accountant="zcdp")
    model = torch.nn.Linear(4, 2)
    model, optimizer, data = engine.make_private_with_epsilon(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=loader(),
        target_epsilon=3.0,
        target_delta=1e-5,
        epochs=2,
        max_grad_norm=1.0,
    )
    train(model, optimizer, data, 16)
    assert 2.9 < engine.get_epsilon(1e-5) <= 3


def test_states_are_saved_and_loaded() -> None:
    one, other = zx.Accountant(), zx.Accountant()
    for noise in (1.0, 1.0, 2.0):
        one.step(noise_multiplier=noise, sample_rate=0.25)
    assert one.history == [(1.0, 0.25, 2), (2.0, 0.25, 1)]
    other.load_state_dict(one.state_dict())
    assert other.get_epsilon(1e-5) == one.get_epsilon(1e-5)
    with pytest.raises(ValueError, match="cannot be loaded"):
        RDPAccountant().load_state_dict(one.state_dict())


def test_what_is_not_covered_is_refused() -> None:
    engine = opacus.PrivacyEngine()
    engine.accountant = zx.Accountant()
    _, _, shuffled = private(engine, poisson_sampling=False)
    with pytest.raises(zx.Refused, match="does not draw Poisson samples"):
        engine.accountant.check(shuffled)
    model, optimizer, data = private(engine, poisson_sampling=False)
    for n, (x, y) in enumerate(data):  # gradients of two batches in one step
        torch.nn.functional.cross_entropy(model(x), y).backward()
        if n:
            break
    with pytest.raises(zx.Refused, match="a step over 2 samples is not covered"):
        optimizer.step()
    accountant = zx.Accountant()
    for bad in ({"noise_multiplier": -1.0, "sample_rate": 0.5}, {"noise_multiplier": 1.0, "sample_rate": 1.5}):
        with pytest.raises(ValueError, match="must"):
            accountant.step(**bad)
    accountant.step(noise_multiplier=0.0, sample_rate=0.5)
    assert accountant.get_epsilon(1e-5) == inf


def test_an_accountant_that_saw_no_step_says_so() -> None:
    with pytest.warns(UserWarning, match="before make_private"):
        assert zx.Accountant().get_epsilon(1e-5) == 0


def test_a_sample_in_pieces_is_one_step() -> None:
    engine = opacus.PrivacyEngine()
    engine.accountant = zx.Accountant()
    model, optimizer, data = private(engine, batch=32)
    with BatchMemoryManager(data_loader=data, max_physical_batch_size=4, optimizer=optimizer) as pieces:
        for x, y in pieces:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    assert engine.accountant.history == [(1.1, 0.5, 2)]


SUITES = ["accountants_test", "prv_accountant", "accounting_noise_multiplier_test"]
THEIR_TESTS = peer_suite.cases("opacus.md", *(f"opacus.tests.{name}" for name in SUITES))


@pytest.fixture
def in_their_place(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Ours in the place of the two accountants that bound epsilon; the one that approximates it stays."""
    for name in SUITES:
        for one in ("RDPAccountant", "PRVAccountant"):
            monkeypatch.setattr(sys.modules[f"opacus.tests.{name}"], one, zx.Accountant, raising=False)
    for name in ("rdp", "prv"):
        register_accountant(name, zx.Accountant, force=True)
    yield
    register_accountant("rdp", RDPAccountant, force=True)
    register_accountant("prv", PRVAccountant, force=True)


@pytest.mark.parametrize("test", THEIR_TESTS)
def test_their_own_tests_with_our_accountant(test: TestCase, in_their_place: None) -> None:
    peer_suite.run(test)


def test_the_page_says_how_many_of_their_tests_pass() -> None:
    peer_suite.check_counts("opacus.md", THEIR_TESTS, opacus)


@pytest.mark.parametrize("history", [(1.5, 0.04, 2250), (0.8, 0.001, 100), (1.5, 0.05, 1000), (2.0, 0.001, 20000)])
def test_numbers_of_theirs_that_are_not_met_are_above_ours(history: tuple) -> None:
    """By the error that the one allows itself, 0.01, and by what Renyi divergences lose."""
    ours, estimate, bound = zx.Accountant(), PRVAccountant(), RDPAccountant()
    for one in (ours, estimate, bound):
        one.history = [history]
    lower, upper = ours.get_epsilon_bounds(1e-6)
    assert upper - lower < 1e-9 * upper
    assert lower < estimate.get_epsilon(delta=1e-6) <= upper + 0.0105
    assert upper < bound.get_epsilon(delta=1e-6)
