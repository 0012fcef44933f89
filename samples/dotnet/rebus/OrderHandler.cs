using Rebus.Bus;
using Rebus.Handlers;

namespace Shop;

/// <summary>Takes orders. All that a handler sends leaves when the handler is done, and nothing if it throws.</summary>
public class OrderHandler(IBus bus, OrderBook orders, ShopSettings settings) :
    IHandleMessages<PlaceOrder>,
    IHandleMessages<GetOrderStatus>,
    IHandleMessages<CheckPayment>
{
    public async Task Handle(PlaceOrder order)
    {
        orders.Place(order.OrderId);
        await bus.Publish(new OrderPlaced(order.OrderId, order.Item));
        await bus.Send(new ChargeCard(order.OrderId, order.Card, order.Amount));
        // A scheduled message of Service Bus: the queue keeps it until it is due.
        await bus.DeferLocal(settings.PaymentTime, new CheckPayment(order.OrderId));
    }

    public Task Handle(GetOrderStatus request) =>
        bus.Reply(new OrderStatus(request.OrderId, orders[request.OrderId]));

    public Task Handle(CheckPayment message)
    {
        if (orders[message.OrderId] == OrderState.Placed)
        {
            orders.Set(message.OrderId, OrderState.Overdue);
        }

        return Task.CompletedTask;
    }
}
