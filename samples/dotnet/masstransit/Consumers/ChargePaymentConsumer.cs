using MassTransit;

namespace Orders.Consumers;

/// <summary>Charges the customer. What it publishes and sends leaves the outbox only if that succeeds.</summary>
public sealed class ChargePaymentConsumer(IPayments payments, IMessageScheduler scheduler, IJournal journal) : IConsumer<ChargePayment>
{
    public async Task Consume(ConsumeContext<ChargePayment> context)
    {
        var (orderId, total, reminderId) = context.Message;
        await context.Publish(new OrderPaid(orderId));
        await context.Send(Queues.AddressOf(Queues.Shipments), new ShipOrder(orderId));
        await payments.Charge(orderId, total, context.CancellationToken);
        if (reminderId is { } id)
        {
            await scheduler.CancelScheduledSend(Queues.AddressOf(Queues.Reminders), id);
        }

        journal.Write(Queues.Payments, orderId, $"charged {total}");
    }
}
