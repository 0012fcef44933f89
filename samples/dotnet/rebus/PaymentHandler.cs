using Rebus.Bus;
using Rebus.Exceptions;
using Rebus.Handlers;
using Rebus.Messages;
using Rebus.Retry.Simple;

namespace Shop;

/// <summary>Charges cards. One that failed each of its attempts is tried again later, some times.</summary>
public class PaymentHandler(IBus bus, OrderBook orders, ICardTerminal terminal, ShopSettings settings) :
    IHandleMessages<ChargeCard>,
    IHandleMessages<IFailed<ChargeCard>>
{
    public async Task Handle(ChargeCard charge)
    {
        await terminal.Charge(charge);
        orders.Set(charge.OrderId, OrderState.Paid);
    }

    public async Task Handle(IFailed<ChargeCard> failed)
    {
        var retries = failed.Headers.TryGetValue(Headers.DeferCount, out var count) ? int.Parse(count) : 0;
        if (retries < settings.CardRetries)
        {
            await bus.Advanced.TransportMessage.Defer(settings.CardRetryDelay);
            return;
        }

        orders.Set(failed.Message.OrderId, OrderState.Refused);
        // What a second-level handler throws sends the message to the error queue.
        throw new RebusApplicationException($"The card of order {failed.Message.OrderId} cannot be charged.");
    }
}
