using Azure.Messaging.ServiceBus;
using static Dynabus.Checks.Sdk.Messages;

namespace Dynabus.Checks.Sdk.Sending;

internal sealed class BatchChecks(Bus bus)
{
    [Check("a batch refuses the message that does not fit any more, and what it took arrives in order")]
    public async Task FullBatch()
    {
        var queue = await bus.NewQueue();
        await using var sender = bus.Client.CreateSender(queue);
        using var batch = await sender.CreateMessageBatchAsync();
        var number = 0;
        while (batch.TryAddMessage(new ServiceBusMessage(new byte[40_000]) { MessageId = $"{number}" }))
        {
            number += 1;
        }

        Expect.Equal(number, batch.Count);
        Expect.Between(batch.MaxSizeInBytes - 40_200, batch.MaxSizeInBytes, batch.SizeInBytes);
        await sender.SendMessagesAsync(batch);
        await using var receiver = bus.Client.CreateReceiver(queue);
        var ids = (await receiver.ReceiveAll(number)).Select(message => message.MessageId);
        Expect.Sequence(Enumerable.Range(0, number).Select(id => $"{id}"), ids);
        await receiver.ExpectNothing();
    }

    [Check("a batch may be as large as a message of the queue, 256 KB")]
    public async Task SizeOfTheLink()
    {
        var queue = await bus.NewQueue();
        await using var sender = bus.Client.CreateSender(queue);
        using var batch = await sender.CreateMessageBatchAsync();
        Expect.Equal(256 * 1024, batch.MaxSizeInBytes);
    }

    [Check("a batch keeps to a size and to a count that the sender chose")]
    public async Task ChosenLimits()
    {
        var queue = await bus.NewQueue();
        await using var sender = bus.Client.CreateSender(queue);
        using var small = await sender.CreateMessageBatchAsync(new CreateMessageBatchOptions { MaxSizeInBytes = 1000 });
        Expect.True(small.TryAddMessage(new ServiceBusMessage(new byte[500])));
        Expect.True(!small.TryAddMessage(new ServiceBusMessage(new byte[500])));
        await sender.SendMessagesAsync(small);
        await using var receiver = bus.Client.CreateReceiver(queue);
        Expect.Equal(500, (await receiver.ReceiveOne()).Body.ToArray().Length);
        await Expect.Throws<ArgumentOutOfRangeException>(async () =>
            await sender.CreateMessageBatchAsync(new CreateMessageBatchOptions { MaxSizeInBytes = 50_000_000 }));
    }

    [Check("an empty batch sends nothing, and a batch can be cleared and used again")]
    public async Task EmptyBatch()
    {
        var queue = await bus.NewQueue();
        await using var sender = bus.Client.CreateSender(queue);
        using var batch = await sender.CreateMessageBatchAsync();
        await sender.SendMessagesAsync(batch);
        Expect.True(batch.TryAddMessage(new ServiceBusMessage("one")));
        await sender.SendMessagesAsync(batch);
        Expect.Sequence(["one"], await bus.Content(queue));
    }

    [Check("a batch of messages for several sessions keeps each message's session")]
    public async Task SessionsInABatch()
    {
        var queue = await bus.NewSessionQueue();
        await using var sender = bus.Client.CreateSender(queue);
        using var batch = await sender.CreateMessageBatchAsync();
        foreach (var session in new[] { "A", "B", "A" })
        {
            Expect.True(batch.TryAddMessage(new ServiceBusMessage($"of {session}") { SessionId = session }));
        }

        await sender.SendMessagesAsync(batch);
        await using var receiver = await bus.Client.AcceptSessionAsync(queue, "A");
        Expect.Sequence(["of A", "of A"], (await receiver.ReceiveAll(2)).Bodies());
        await receiver.ExpectNothing();
    }

    [Check("a batch with one message that a session queue refuses is refused as a whole")]
    public async Task AllOrNone()
    {
        var queue = await bus.NewSessionQueue();
        await using var sender = bus.Client.CreateSender(queue);
        await Expect.Throws<InvalidOperationException>(() => sender.SendMessagesAsync(
            [new ServiceBusMessage("good") { SessionId = "A" }, new ServiceBusMessage("without a session")]));
        await Refused(ServiceBusFailureReason.ServiceTimeout, NextSession, isTransient: true);

        async Task NextSession()
        {
            await using var impatient = bus.NewImpatientClient(trySeconds: 2);
            await impatient.AcceptNextSessionAsync(queue);
        }
    }
}
