using Azure.Messaging.ServiceBus;
using MassTransit;
using Orders;

namespace Dynabus.Checks.MassTransit;

/// <summary>Retry, redelivery, the outbox, and where messages go that nobody could handle.</summary>
internal sealed class FailureChecks(Service service)
{
    private static readonly TimeSpan Moment = TimeSpan.FromSeconds(2);

    public Task Run(Tally tally) => Task.WhenAll(
        tally.Check("a failure that passes is retried at once", Retry),
        tally.Check("a failure that lasts is redelivered when that is due", Redelivery),
        tally.Check("what a failed consumer published is not sent, and is sent once when it succeeds", Outbox),
        tally.Check("after its last redelivery a message is in the error queue, with the fault in its headers", ErrorQueue),
        tally.Check("a fault is published, and its subscribers get it", PublishedFault),
        tally.Check("a message that no consumer handles is in the skipped queue", SkippedQueue),
        tally.Check("with the dead-letter settings, a failed message is a dead letter with the fault", DeadLetter),
        tally.Check("with the dead-letter settings, a message that no consumer handles is a dead letter", SkippedDeadLetter));

    private async Task Retry()
    {
        var orderId = NewId.NextGuid();
        service.Payments.Fail(orderId, 1);
        await service.Send(Queues.Payments, new ChargePayment(orderId, 40));
        await service.Journal.First(Queues.Payments, orderId);
        var tries = service.Payments.TriesOf(orderId);
        Expect.Equal(2, tries.Count);
        Expect.True(tries[1] - tries[0] < TimeSpan.FromSeconds(1));
    }

    private async Task Redelivery()
    {
        var orderId = NewId.NextGuid();
        service.Payments.Fail(orderId, 4);
        await service.Send(Queues.Payments, new ChargePayment(orderId, 40));
        await service.Journal.First(Queues.Payments, orderId);
        var tries = service.Payments.TriesOf(orderId);
        Expect.Equal(5, tries.Count);
        ExpectDue(Service.Options.PaymentRedeliveries[0], tries[2] - tries[1]);
        ExpectDue(Service.Options.PaymentRedeliveries[1], tries[4] - tries[3]);
    }

    /// <summary>Not before its time, and soon after it.</summary>
    private static void ExpectDue(TimeSpan due, TimeSpan waited) =>
        Expect.Between(due - TimeSpan.FromMilliseconds(50), due + TimeSpan.FromSeconds(2), waited);

    private async Task Outbox()
    {
        var orderId = NewId.NextGuid();
        service.Payments.Fail(orderId, 3);
        await service.Send(Queues.Payments, new ChargePayment(orderId, 40));
        await Expect.Eventually(() => service.Payments.TriesOf(orderId).Count == 2);
        Expect.Equal(0, service.Journal.Of(Queues.Audit, orderId).Count);
        await service.Journal.First(Queues.Payments, orderId);
        await service.Journal.First(Queues.Shipments, orderId);
        await Task.Delay(Moment);
        // It was paid, and it was shipped.
        Expect.Equal(2, service.Journal.Of(Queues.Audit, orderId).Count);
        Expect.Equal(1, service.Journal.Of(Queues.Shipments, orderId).Count);
    }

    private async Task ErrorQueue()
    {
        var orderId = NewId.NextGuid();
        service.Payments.Fail(orderId, int.MaxValue);
        await service.Send(Queues.Payments, new ChargePayment(orderId, 40));
        await Expect.Eventually(() => service.Payments.TriesOf(orderId).Count == 6);
        var message = await service.Find($"{Queues.Payments}_error", orderId);
        var headers = message.ApplicationProperties;
        Expect.Equal("fault", headers["MT-Reason"]);
        Expect.Equal("The provider is away, try 6.", headers["MT-Fault-Message"]);
        Expect.True($"{headers["MT-Fault-ExceptionType"]}".EndsWith(nameof(PaymentsUnavailableException)));
        Expect.True($"{headers["MT-Fault-StackTrace"]}".Contains(nameof(ScriptedPayments.Charge)));
        Expect.Equal(6, service.Payments.TriesOf(orderId).Count);
    }

    private async Task PublishedFault()
    {
        var orderId = NewId.NextGuid();
        var published = new TaskCompletionSource<Fault<ShipOrder>>();
        var handle = service.Bus.ConnectReceiveEndpoint("shipment-faults", endpoint =>
            endpoint.Handler<Fault<ShipOrder>>(context =>
            {
                if (context.Message.Message.OrderId == orderId)
                {
                    published.TrySetResult(context.Message);
                }

                return Task.CompletedTask;
            }));
        await handle.Ready;
        service.Warehouse.Break(orderId);
        await service.Send(Queues.Shipments, new ShipOrder(orderId));
        Expect.Equal("The parcel is broken.", (await published.Task).Exceptions[0].Message);
        await handle.StopAsync();
    }

    private async Task SkippedQueue()
    {
        var orderId = NewId.NextGuid();
        await service.Send(Queues.Submit, new OrderShipped(orderId));
        var message = await service.Find($"{Queues.Submit}_skipped", orderId);
        Expect.Equal("dead-letter", message.ApplicationProperties["MT-Reason"]);
    }

    private async Task DeadLetter()
    {
        var orderId = NewId.NextGuid();
        service.Warehouse.Break(orderId);
        await service.Send(Queues.Shipments, new ShipOrder(orderId));
        var message = await service.Find(Queues.Shipments, orderId, SubQueue.DeadLetter);
        Expect.Equal("fault", message.ApplicationProperties["MT-Reason"]);
        Expect.Equal("The parcel is broken.", message.ApplicationProperties["MT-Fault-Message"]);
    }

    private async Task SkippedDeadLetter()
    {
        var orderId = NewId.NextGuid();
        await service.Send(Queues.Shipments, new OrderPaid(orderId));
        var message = await service.Find(Queues.Shipments, orderId, SubQueue.DeadLetter);
        Expect.Equal("dead-letter", message.ApplicationProperties["MT-Reason"]);
    }
}
