// An account that cannot be overdrawn, however many debits arrive at once.
//
// Amounts are whole cents: floating point numbers cannot hold fractions of money exactly.

import { StatefulActor } from "@telnyx/edge-runtime";

/** Debits from this amount on are reviewed before they are made. */
const REVIEWED_FROM_CENTS = 100_000;

const REVIEW_MS = 2_000;

interface Payment {
  cents: number;
  balance: number;
}

export class Account extends StatefulActor {
  async balance(): Promise<number> {
    return (await this.ctx.storage.get<number>("balance")) ?? 0;
  }

  /** Pay in; the new balance. A payment with an id counts once, however often it is sent. */
  async credit(cents: number, paymentId?: string): Promise<number> {
    checkAmount(cents);
    return await this.#book(cents, paymentId);
  }

  /** Pay out; the new balance. It fails where there is not enough. */
  async debit(cents: number, paymentId?: string): Promise<number> {
    checkAmount(cents);
    return await this.#book(-cents, paymentId);
  }

  async #book(cents: number, paymentId?: string): Promise<number> {
    // A caller that got no answer does not know whether its payment was made, so it sends it
    // again, under the same id. It must not be booked twice.
    const payment = `payment/${paymentId}`;
    if (paymentId !== undefined) {
      const booked = await this.ctx.storage.get<Payment>(payment);
      if (booked !== undefined) return booked.balance;
    }

    const before = await this.balance();
    if (-cents >= REVIEWED_FROM_CENTS) {
      // Here the turn waits, on the emulated clock: setTimeout follows it. Other calls of this
      // account wait for their turn meanwhile, so `before` is still right afterwards.
      await new Promise((resolve) => setTimeout(resolve, REVIEW_MS));
    }
    const balance = before + cents;
    if (balance < 0) throw new Error(`insufficient funds: ${before} is less than ${-cents}`);

    // Both writes are kept as one: no crash can leave a payment without its booking.
    await this.ctx.storage.put("balance", balance);
    if (paymentId !== undefined) {
      // These markers stay. An account with many payments drops old ones by an alarm.
      await this.ctx.storage.put(payment, { cents, balance });
    }
    return balance;
  }
}

function checkAmount(cents: number): void {
  if (!Number.isSafeInteger(cents) || cents <= 0) {
    throw new Error(`an amount is a whole number of cents above 0, not ${JSON.stringify(cents)}`);
  }
}
