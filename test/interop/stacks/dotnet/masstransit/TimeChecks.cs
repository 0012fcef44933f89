using Azure.Messaging.ServiceBus;
using MassTransit;
using Orders;

namespace Dynabus.Checks.MassTransit;

/// <summary>What happens later: scheduled messages and locks.</summary>
internal sealed class TimeChecks(Service service)
{
    private static readonly TimeSpan Slack = TimeSpan.FromSeconds(2);

    public Task Run(Tally tally) => Task.WhenAll(
        tally.Check("a scheduled message comes when it is due", Scheduled),
        tally.Check("a scheduled message that is cancelled does not come", Cancelled),
        tally.Check("an event that is scheduled comes when it is due", ScheduledEvent),
        tally.Check("a lock is renewed while its message is handled, so it is handled once", Renewal),
        tally.Check("a message whose time to live is over is not handled", Expiry));

    private async Task Scheduled()
    {
        var orderId = NewId.NextGuid();
        await service.Submit(new SubmitOrder(orderId, "Grace", "US", 40));
        var accepted = service.Journal.Of(Queues.Submit, orderId)[0].At;
        var reminded = (await service.Journal.First(Queues.Reminders, orderId)).At;
        var remindAfter = Service.Options.RemindAfter;
        Expect.Between(remindAfter - TimeSpan.FromSeconds(1), remindAfter + Slack, reminded - accepted);
    }

    private async Task Cancelled()
    {
        var orderId = NewId.NextGuid();
        var answer = await service.Submit(new SubmitOrder(orderId, "Ada", "EU", 40));
        Expect.True(answer.Is(out Response<OrderAccepted>? accepted));
        await service.Send(Queues.Payments, new ChargePayment(orderId, 40, accepted!.Message.ReminderId));
        await service.Journal.First(Queues.Payments, orderId);
        await Task.Delay(Service.Options.RemindAfter + Slack);
        Expect.Equal(0, service.Journal.Of(Queues.Reminders, orderId).Count);
    }

    private async Task ScheduledEvent()
    {
        var orderId = NewId.NextGuid();
        var scheduler = service.Bus.CreateServiceBusMessageScheduler();
        var due = DateTime.UtcNow.AddSeconds(3);
        await scheduler.SchedulePublish(due, new OrderShipped(orderId));
        var noted = (await service.Journal.First(Queues.Audit, orderId)).At;
        Expect.Between(TimeSpan.FromMilliseconds(-50), Slack, noted - due);
    }

    private async Task Renewal()
    {
        var orderId = NewId.NextGuid();
        service.Warehouse.Take(orderId, TimeSpan.FromSeconds(14));
        await service.Send(Queues.Shipments, new ShipOrder(orderId));
        await service.Journal.First(Queues.Shipments, orderId, TimeSpan.FromSeconds(30));
        await Task.Delay(Slack);
        Expect.Equal(1, service.Journal.Of(Queues.Shipments, orderId).Count);
    }

    private async Task Expiry()
    {
        var (late, here) = (NewId.NextGuid(), NewId.NextGuid());
        var sender = await service.Bus.GetSendEndpoint(new Uri("queue:later"));
        await sender.Send(new Question($"{late}"), send => send.TimeToLive = TimeSpan.FromSeconds(1));
        await sender.Send(new Question($"{here}"));
        await Task.Delay(Slack);
        await using var receiver = service.Client.CreateReceiver("later");
        var message = await receiver.ReceiveMessageAsync();
        Expect.True(message.Body.ToString().Contains($"{here}"));
        await receiver.CompleteMessageAsync(message);
        var ended = await service.Find("later", late, SubQueue.DeadLetter);
        Expect.Equal("TTLExpiredException", ended.DeadLetterReason);
    }
}
