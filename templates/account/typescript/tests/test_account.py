"""An account is never overdrawn: not by one call, not by two at once, not by a repeated one."""

import pytest

from edgeemu import ActorMethodError


def test_money_comes_in_and_goes_out(edgeemu):
    account = edgeemu.actor("Account/ada")

    assert account.credit(1_000) == 1_000
    assert account.debit(300) == 700
    assert account.balance() == 700


def test_an_account_is_not_overdrawn(edgeemu):
    account = edgeemu.actor("Account/ada")
    account.credit(100)

    with pytest.raises(ActorMethodError, match="insufficient funds: 100 is less than 101"):
        account.debit(101)

    assert account.balance() == 100


def test_two_debits_at_once_do_not_spend_the_same_money(edgeemu):
    account = edgeemu.actor("Account/ada")
    account.credit(150_000)

    # Both are large enough to be reviewed, so the first still waits when the second arrives.
    first = account.debit.start(100_000)
    second = account.debit.start(100_000)
    assert not first.done

    edgeemu.clock.advance("2s")
    assert first.result() == 50_000

    edgeemu.clock.advance("2s")
    with pytest.raises(ActorMethodError, match="insufficient funds"):
        second.result()
    assert account.balance() == 50_000


def test_a_payment_that_is_sent_again_is_booked_once(edgeemu):
    account = edgeemu.actor("Account/ada")
    account.credit(1_000, "salary")
    assert account.debit(400, "rent") == 600

    account.evict()

    assert account.debit(400, "rent") == 600
    assert account.credit(1_000, "salary") == 1_000  # what it answered then
    assert account.balance() == 600


def test_a_crash_in_the_middle_of_a_debit_leaves_the_account_as_it_was(edgeemu):
    account = edgeemu.actor("Account/ada")
    account.credit(150_000)
    debit = account.debit.start(100_000, "car")

    account.evict(crash=True)

    with pytest.raises(Exception, match="lost in the middle of the turn"):
        debit.result()
    assert account.balance() == 150_000

    # The caller does what callers do, and sends the payment again.
    again = account.debit.start(100_000, "car")
    edgeemu.clock.advance("2s")
    assert again.result() == 50_000


def test_an_account_answers_over_http(edgeemu):
    edgeemu.fetch("POST", "/ada/credit", json={"cents": 500})

    assert edgeemu.fetch("POST", "/ada/debit", json={"cents": 200}).json() == {"balance": 300}
    refused = edgeemu.fetch("POST", "/ada/debit", json={"cents": 900})
    assert refused.status == 409
    assert refused.json() == {"error": "insufficient funds: 300 is less than 900"}
    assert edgeemu.fetch("GET", "/ada").json() == {"balance": 300}


@pytest.mark.parametrize("cents", [0, -5, 1.5, "10"])
def test_an_amount_is_a_whole_number_of_cents(edgeemu, cents):
    with pytest.raises(ActorMethodError, match="whole number of cents"):
        edgeemu.actor("Account/ada").credit(cents)
