using Azure.Messaging.ServiceBus;
using static Dynabus.Checks.Sdk.Messages;

namespace Dynabus.Checks.Sdk.Sending;

internal sealed class SchedulingChecks(Bus bus)
{
    [Check("a scheduled message comes at its time, not before")]
    public async Task ComesAtItsTime()
    {
        var queue = await bus.NewQueue();
        await using var sender = bus.Client.CreateSender(queue);
        var due = DateTimeOffset.UtcNow.AddSeconds(3);
        await sender.ScheduleMessageAsync(new ServiceBusMessage("later"), due);
        await using var receiver = bus.Client.CreateReceiver(queue);
        var message = await receiver.ReceiveOne();
        Expect.Equal("later", message.Body.ToString());
        Expect.Between(due.AddMilliseconds(-1), due.AddSeconds(30), DateTimeOffset.UtcNow);
        Expect.Between(due.AddMilliseconds(-1), due.AddMilliseconds(1), message.ScheduledEnqueueTime);
    }

    [Check("ScheduledEnqueueTime of a message that is simply sent counts, too")]
    public async Task SentWithATime()
    {
        var queue = await bus.NewQueue();
        await using var sender = bus.Client.CreateSender(queue);
        var due = DateTimeOffset.UtcNow.AddSeconds(3);
        await sender.SendMessageAsync(new ServiceBusMessage("later") { ScheduledEnqueueTime = due });
        await using var receiver = bus.Client.CreateReceiver(queue);
        await receiver.ReceiveOne();
        Expect.True(DateTimeOffset.UtcNow >= due);
    }

    [Check("a time that has passed enqueues at once")]
    public async Task PastTime()
    {
        var queue = await bus.NewQueue();
        await using var sender = bus.Client.CreateSender(queue);
        await sender.ScheduleMessageAsync(new ServiceBusMessage("late"), DateTimeOffset.UtcNow.AddMinutes(-1));
        await using var receiver = bus.Client.CreateReceiver(queue);
        Expect.Equal("late", await receiver.CompleteOne());
    }

    [Check("many are scheduled with one call, each with its number, and a peek shows them as Scheduled")]
    public async Task ScheduledTogether()
    {
        var queue = await bus.NewQueue();
        await using var sender = bus.Client.CreateSender(queue);
        var numbers = await sender.ScheduleMessagesAsync(
            Numbered("m", 20).Select(body => new ServiceBusMessage(body)), DateTimeOffset.UtcNow.AddHours(1));
        Expect.Equal(20, numbers.Distinct().Count());
        await using var receiver = bus.Client.CreateReceiver(queue);
        var shown = await receiver.PeekMessagesAsync(30);
        Expect.Sequence(numbers, shown.Select(message => message.SequenceNumber));
        Expect.True(shown.All(message => message.State == ServiceBusMessageState.Scheduled));
        Expect.Equal(20, (await bus.Administration.GetQueueRuntimePropertiesAsync(queue)).Value.ScheduledMessageCount);
    }

    [Check("a scheduled message that is cancelled never comes; cancelled twice: MessageNotFound")]
    public async Task Cancelled()
    {
        var queue = await bus.NewQueue();
        await using var sender = bus.Client.CreateSender(queue);
        var due = DateTimeOffset.UtcNow.AddSeconds(4);
        var number = await sender.ScheduleMessageAsync(new ServiceBusMessage("never"), due);
        await sender.CancelScheduledMessageAsync(number);
        await Refused(ServiceBusFailureReason.MessageNotFound, () => sender.CancelScheduledMessageAsync(number));
        await UntilAfter(due);
        await using var receiver = bus.Client.CreateReceiver(queue);
        await receiver.ExpectNothing();
        Expect.Sequence([], await bus.Content(queue));
    }

    [Check("many are cancelled with one call, and the others stay")]
    public async Task CancelledTogether()
    {
        var queue = await bus.NewQueue();
        await using var sender = bus.Client.CreateSender(queue);
        var numbers = await sender.ScheduleMessagesAsync(
            Numbered("m", 6).Select(body => new ServiceBusMessage(body)), DateTimeOffset.UtcNow.AddHours(1));
        await sender.CancelScheduledMessagesAsync(numbers.Take(4));
        Expect.Sequence(["m5", "m6"], await bus.Content(queue));
    }

    [Check("the number of a message that has come already cannot be cancelled: MessageNotFound")]
    public async Task CancelledTooLate()
    {
        var queue = await bus.NewQueue();
        await using var sender = bus.Client.CreateSender(queue);
        var number = await sender.ScheduleMessageAsync(new ServiceBusMessage("soon"), DateTimeOffset.UtcNow.AddSeconds(1));
        await using var receiver = bus.Client.CreateReceiver(queue);
        Expect.Equal("soon", await receiver.CompleteOne());
        await Refused(ServiceBusFailureReason.MessageNotFound, () => sender.CancelScheduledMessageAsync(number));
    }

    [Check("a message scheduled for a topic comes to its subscriptions at its time")]
    public async Task ScheduledForATopic()
    {
        var topic = await bus.NewTopic();
        var subscription = await bus.NewSubscription(topic);
        await using var sender = bus.Client.CreateSender(topic);
        var due = DateTimeOffset.UtcNow.AddSeconds(3);
        await sender.ScheduleMessageAsync(new ServiceBusMessage("news"), due);
        await using var receiver = bus.Client.CreateReceiver(topic, subscription);
        Expect.Equal("news", await receiver.CompleteOne());
        Expect.True(DateTimeOffset.UtcNow >= due);
    }

    [Check("time to live begins when a scheduled message is enqueued")]
    public async Task TimeToLive()
    {
        var queue = await bus.NewQueue();
        await using var sender = bus.Client.CreateSender(queue);
        var due = DateTimeOffset.UtcNow.AddSeconds(3);
        await sender.ScheduleMessageAsync(new ServiceBusMessage("lives") { TimeToLive = TimeSpan.FromMinutes(1) }, due);
        await using var receiver = bus.Client.CreateReceiver(queue);
        var message = await receiver.ReceiveOne();
        Expect.Between(due.AddSeconds(60).AddMilliseconds(-1), due.AddSeconds(90), message.ExpiresAt);
    }
}
