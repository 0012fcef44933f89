using MassTransit;

namespace Orders.Consumers;

/// <summary>Answers the request, and lets others know of the order.</summary>
public sealed class SubmitOrderConsumer(IJournal journal, OrderOptions options) : IConsumer<SubmitOrder>
{
    public async Task Consume(ConsumeContext<SubmitOrder> context)
    {
        var (orderId, customer, region, total) = context.Message;
        if (total <= 0)
        {
            await context.RespondAsync(new OrderRejected(orderId, "An order has a total above zero."));
            return;
        }

        // Filters of subscriptions see headers, not the body.
        await context.Publish(new OrderSubmitted(orderId, customer, region, total), publish =>
        {
            publish.Headers.Set("Region", region);
            publish.Headers.Set("Total", total);
        });
        var reminder = await context.ScheduleSend(
            Queues.AddressOf(Queues.Reminders),
            options.RemindAfter,
            new RemindOfPayment(orderId));
        await context.RespondAsync(new OrderAccepted(orderId, reminder.TokenId));
        journal.Write(Queues.Submit, orderId, $"accepted from {customer}");
    }
}
