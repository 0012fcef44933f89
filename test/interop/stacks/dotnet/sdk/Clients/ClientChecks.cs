using Azure.Messaging.ServiceBus;
using static Dynabus.Checks.Sdk.Messages;

namespace Dynabus.Checks.Sdk.Clients;

internal sealed class ClientChecks(Bus bus)
{
    [Check("a client that is disposed closes its senders and receivers, which then say so")]
    public async Task Disposed()
    {
        var queue = await bus.NewQueue();
        var client = bus.NewClient();
        var sender = client.CreateSender(queue);
        var receiver = client.CreateReceiver(queue);
        await sender.SendMessageAsync(new ServiceBusMessage("hello"));
        await receiver.ReceiveOne();
        Expect.Equal("False False False", $"{client.IsClosed} {sender.IsClosed} {receiver.IsClosed}");
        await client.DisposeAsync();
        Expect.True(client.IsClosed);
        await Expect.Throws<ObjectDisposedException>(() => sender.SendMessageAsync(new ServiceBusMessage("late")));
        await Expect.Throws<ObjectDisposedException>(() => receiver.ReceiveMessageAsync(Moment));
        await client.DisposeAsync();
    }

    [Check("a closed sender says so, and the client makes another one")]
    public async Task ClosedSender()
    {
        var queue = await bus.NewQueue();
        var sender = bus.Client.CreateSender(queue);
        await sender.SendMessageAsync(new ServiceBusMessage("first"));
        await sender.CloseAsync();
        Expect.True(sender.IsClosed);
        await Expect.Throws<ObjectDisposedException>(() => sender.SendMessageAsync(new ServiceBusMessage("late")));
        await bus.Send(queue, "second");
        Expect.Sequence(["first", "second"], await bus.Content(queue));
    }

    [Check("a receiver that closes while it waits ends its receive, and takes no message with it")]
    public async Task ClosedWhileWaiting()
    {
        var queue = await bus.NewQueue();
        var receiver = bus.Client.CreateReceiver(queue);
        var waiting = receiver.ReceiveMessageAsync(TimeSpan.FromSeconds(50));
        await Task.Delay(TimeSpan.FromSeconds(1));
        await receiver.CloseAsync();
        Expect.True(await Task.WhenAny(waiting, Task.Delay(Wait)) == waiting, "the receive has ended");
        await bus.Send(queue, "for others");
        await using var other = bus.Client.CreateReceiver(queue);
        var message = await other.ReceiveOne();
        Expect.Equal("for others 1", $"{message.Body} {message.DeliveryCount}");
    }

    [Check("many senders and receivers share one connection, and many clients have one each")]
    public async Task ManyClients()
    {
        var queues = await Task.WhenAll(Enumerable.Range(0, 10).Select(_ => bus.NewQueue()));
        await Task.WhenAll(queues.Select(async queue =>
        {
            await using var client = bus.NewClient();
            await using var sender = client.CreateSender(queue);
            await using var receiver = bus.Client.CreateReceiver(queue);
            await sender.SendMessageAsync(new ServiceBusMessage(queue));
            Expect.Equal(queue, await receiver.CompleteOne());
        }));
    }

    [Check("a receive that is cancelled ends at once and loses no message")]
    public async Task CancelledReceive()
    {
        var queue = await bus.NewQueue();
        await using var receiver = bus.Client.CreateReceiver(queue);
        for (var round = 0; round < 5; round++)
        {
            using var cancellation = new CancellationTokenSource(TimeSpan.FromMilliseconds(300));
            await Expect.Throws<TaskCanceledException>(
                () => receiver.ReceiveMessageAsync(TimeSpan.FromSeconds(50), cancellation.Token));
        }

        await bus.Send(queue, Numbered("m", 10));
        var messages = await receiver.ReceiveAll(10);
        Expect.Sequence(Numbered("m", 10), messages.Bodies());
        Expect.Sequence(Enumerable.Repeat(1, 10), messages.Select(message => message.DeliveryCount));
    }

    [Check("receives that are cancelled while messages come lose none of them")]
    public async Task CancelledUnderWay()
    {
        var queue = await bus.NewQueue(options => options.LockDuration = ShortLock);
        await using var receiver = bus.Client.CreateReceiver(queue);
        var bodies = Numbered("m", 60);
        var sending = Task.WhenAll(bodies.Select(async (body, number) =>
        {
            await Task.Delay(number * 20);
            await bus.Send(queue, body);
        }));
        var found = new HashSet<string>();
        for (var round = 0; round < 30; round++)
        {
            using var cancellation = new CancellationTokenSource(TimeSpan.FromMilliseconds(30 + round));
            try
            {
                foreach (var message in await receiver.ReceiveMessagesAsync(3, Wait, cancellation.Token))
                {
                    await receiver.CompleteMessageAsync(message, CancellationToken.None);
                    found.Add(message.Body.ToString());
                }
            }
            catch (OperationCanceledException)
            {
                // What was under way must come again.
            }
        }

        await sending;
        while (found.Count < bodies.Length)
        {
            found.Add(await receiver.CompleteOne());
        }

        Expect.Sequence([], await bus.Content(queue));
    }

    [Check("an accept of the next session that is cancelled holds no session")]
    public async Task CancelledAccept()
    {
        var queue = await bus.NewSessionQueue();
        using var cancellation = new CancellationTokenSource(TimeSpan.FromMilliseconds(500));
        await Expect.Throws<TaskCanceledException>(
            () => bus.Client.AcceptNextSessionAsync(queue, cancellationToken: cancellation.Token));
        await bus.SendToSession(queue, "A", "free");
        await using var receiver = await bus.Client.AcceptSessionAsync(queue, "A");
        Expect.Equal("free", await receiver.CompleteOne());
    }

    [Check("an operation with a cancelled token does not even begin")]
    public async Task CancelledBefore()
    {
        var queue = await bus.NewQueue();
        await using var sender = bus.Client.CreateSender(queue);
        var cancelled = new CancellationToken(canceled: true);
        await Expect.Throws<TaskCanceledException>(() => sender.SendMessageAsync(new ServiceBusMessage("never"), cancelled));
        Expect.Sequence([], await bus.Content(queue));
    }

    [Check("a wait for the next session ends with the time of one try")]
    public async Task TryTimeout()
    {
        var queue = await bus.NewSessionQueue();
        await using var client = bus.NewImpatientClient(trySeconds: 1.5);
        var before = DateTimeOffset.UtcNow;
        await Refused(
            ServiceBusFailureReason.ServiceTimeout, () => client.AcceptNextSessionAsync(queue), isTransient: true);
        Expect.Between(1.0, 30, (DateTimeOffset.UtcNow - before).TotalSeconds);
    }
}
