using MassTransit;

namespace Orders.Consumers;

public sealed class ShipOrderConsumer(IWarehouse warehouse, IJournal journal) : IConsumer<ShipOrder>
{
    public async Task Consume(ConsumeContext<ShipOrder> context)
    {
        var orderId = context.Message.OrderId;
        await warehouse.Ship(orderId, context.CancellationToken);
        await context.Publish(new OrderShipped(orderId));
        journal.Write(Queues.Shipments, orderId, "shipped");
    }
}
