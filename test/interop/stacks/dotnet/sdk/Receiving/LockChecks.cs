using Azure.Messaging.ServiceBus;
using static Dynabus.Checks.Sdk.Messages;

namespace Dynabus.Checks.Sdk.Receiving;

internal sealed class LockChecks(Bus bus)
{
    [Check("LockedUntil is the queue's lock duration from now")]
    public async Task LockedUntil()
    {
        var queue = await bus.NewQueue(options => options.LockDuration = TimeSpan.FromSeconds(45));
        await bus.Send(queue, "locked");
        await using var receiver = bus.Client.CreateReceiver(queue);
        var before = DateTimeOffset.UtcNow;
        var message = await receiver.ReceiveOne();
        Expect.Between(before.AddSeconds(45), DateTimeOffset.UtcNow.AddSeconds(45), message.LockedUntil);
        Expect.True(Guid.Parse(message.LockToken) != Guid.Empty);
    }

    [Check("a lock that runs out is lost: MessageLockLost for complete and renew, and the message comes again")]
    public async Task LockLost()
    {
        var queue = await bus.NewQueue(options => options.LockDuration = ShortLock);
        await bus.Send(queue, "slow");
        await using var receiver = bus.Client.CreateReceiver(queue);
        var message = await receiver.ReceiveOne();
        await UntilAfter(message.LockedUntil);
        var complete = () => receiver.CompleteMessageAsync(message);
        var error = await Refused(ServiceBusFailureReason.MessageLockLost, complete);
        Expect.True(error.Message.Contains("The lock supplied is invalid."), error.Message);
        await Refused(ServiceBusFailureReason.MessageLockLost, () => receiver.RenewMessageLockAsync(message));
        var again = await receiver.ReceiveOne();
        Expect.Equal(2, again.DeliveryCount);
        Expect.Equal(message.SequenceNumber, again.SequenceNumber);
        Expect.True(message.LockToken != again.LockToken);
        await receiver.CompleteMessageAsync(again);
    }

    [Check("a renewed lock lasts its whole duration from then on")]
    public async Task Renew()
    {
        var queue = await bus.NewQueue(options => options.LockDuration = TimeSpan.FromSeconds(10));
        await bus.Send(queue, "renewed");
        await using var receiver = bus.Client.CreateReceiver(queue);
        var message = await receiver.ReceiveOne();
        var first = message.LockedUntil;
        await Task.Delay(TimeSpan.FromSeconds(4));
        await receiver.RenewMessageLockAsync(message);
        Expect.Between(DateTimeOffset.UtcNow.AddSeconds(7), DateTimeOffset.UtcNow.AddSeconds(10.1), message.LockedUntil);
        await UntilAfter(first);
        await using var other = bus.Client.CreateReceiver(queue);
        await other.ExpectNothing();
        await receiver.CompleteMessageAsync(message);
        Expect.Sequence([], await bus.Content(queue));
    }

    [Check("another receiver renews and settles by the lock token alone")]
    public async Task SettledElsewhere()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, "a", "b", "c", "d");
        await using var receiver = bus.Client.CreateReceiver(queue);
        var messages = await receiver.ReceiveAll(4);
        await using var client = bus.NewClient();
        await using var other = client.CreateReceiver(queue);
        var elsewhere = messages.Select(message => Moved(message, Guid.Parse(message.LockToken))).ToList();
        await other.RenewMessageLockAsync(elsewhere[0]);
        Expect.True(elsewhere[0].LockedUntil > messages[1].LockedUntil);
        await other.CompleteMessageAsync(elsewhere[0]);
        await other.AbandonMessageAsync(elsewhere[1]);
        await other.DeferMessageAsync(elsewhere[2]);
        await other.DeadLetterMessageAsync(elsewhere[3], "elsewhere", "by another receiver");
        var left = await other.PeekMessagesAsync(10);
        Expect.Sequence(
            ["b Active", "c Deferred"],
            left.Select(message => $"{message.Body} {message.State}"));
        await using var graves = bus.DeadLettersOf(queue);
        Expect.Equal("elsewhere", (await graves.ReceiveOne()).DeadLetterReason);
        await Refused(ServiceBusFailureReason.MessageLockLost, () => receiver.CompleteMessageAsync(messages[0]));
    }

    [Check("an unknown lock token: MessageLockLost")]
    public async Task UnknownToken()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, "locked");
        await using var receiver = bus.Client.CreateReceiver(queue);
        var invented = Moved(await receiver.ReceiveOne(), Guid.NewGuid());
        await Refused(ServiceBusFailureReason.MessageLockLost, () => receiver.RenewMessageLockAsync(invented));
        await Refused(ServiceBusFailureReason.MessageLockLost, () => receiver.CompleteMessageAsync(invented));
    }

    [Check("a receiver that closes leaves its messages locked until their time")]
    public async Task ClosedReceiver()
    {
        var queue = await bus.NewQueue(options => options.LockDuration = ShortLock);
        await bus.Send(queue, "held");
        var receiver = bus.Client.CreateReceiver(queue);
        var message = await receiver.ReceiveOne();
        await receiver.CloseAsync();
        await using var other = bus.Client.CreateReceiver(queue);
        var again = await other.ReceiveOne();
        Expect.Equal(2, again.DeliveryCount);
        Expect.True(DateTimeOffset.UtcNow >= message.LockedUntil.AddMilliseconds(-100));
    }

    [Check("an update of the queue ends the locks on it")]
    public async Task UpdateEndsLocks()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, "held");
        await using var receiver = bus.Client.CreateReceiver(queue);
        var message = await receiver.ReceiveOne();
        var properties = (await bus.Administration.GetQueueAsync(queue)).Value;
        properties.UserMetadata = "changed";
        await bus.Administration.UpdateQueueAsync(properties);
        await Refused(ServiceBusFailureReason.MessageLockLost, () => receiver.CompleteMessageAsync(message));
        Expect.Equal("held", await receiver.CompleteOne());
    }

    /// <summary>A message as another process rebuilds it, from its lock token.</summary>
    private static ServiceBusReceivedMessage Moved(ServiceBusReceivedMessage message, Guid lockToken) =>
        ServiceBusReceivedMessage.FromAmqpMessage(
            message.GetRawAmqpMessage(), BinaryData.FromBytes(lockToken.ToByteArray()));
}
