using MassTransit;

namespace Orders.Consumers;

public sealed class RemindOfPaymentConsumer(IJournal journal) : IConsumer<RemindOfPayment>
{
    public Task Consume(ConsumeContext<RemindOfPayment> context)
    {
        journal.Write(Queues.Reminders, context.Message.OrderId, "reminded");
        return Task.CompletedTask;
    }
}

/// <summary>Gets every event, whatever its type.</summary>
public sealed class AuditConsumer(IJournal journal) : IConsumer<IOrderEvent>
{
    public Task Consume(ConsumeContext<IOrderEvent> context)
    {
        journal.Write(Queues.Audit, context.Message.OrderId, "noted");
        return Task.CompletedTask;
    }
}

/// <summary>Its subscription forwards only European orders to its queue.</summary>
public sealed class EuropeanOrderConsumer(IJournal journal) : IConsumer<OrderSubmitted>
{
    public Task Consume(ConsumeContext<OrderSubmitted> context)
    {
        journal.Write(Queues.Europe, context.Message.OrderId, "declared to customs");
        return Task.CompletedTask;
    }
}

/// <summary>Reads a subscription that has only large orders, without a queue.</summary>
public sealed class LargeOrderConsumer(IJournal journal) : IConsumer<OrderSubmitted>
{
    public Task Consume(ConsumeContext<OrderSubmitted> context)
    {
        journal.Write(Queues.LargeOrders, context.Message.OrderId, $"insured for {context.Message.Total}");
        return Task.CompletedTask;
    }
}

/// <summary>Gets the steps of each order in their order, because they share a session.</summary>
public sealed class OrderStepConsumer(IJournal journal) : IConsumer<OrderStep>
{
    public Task Consume(ConsumeContext<OrderStep> context)
    {
        var (orderId, number, description) = context.Message;
        journal.Write(Queues.History, orderId, $"{number}. {description}");
        return Task.CompletedTask;
    }
}
