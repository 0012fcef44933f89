/** What needs no test, though it is of this part of the product: the id, and why. */
export const EXCEPTIONS: Readonly<Record<string, string>> = {
  131: 'Over HTTP a transaction is one call. The two minutes are for those that AMQP will open and close.',
};
