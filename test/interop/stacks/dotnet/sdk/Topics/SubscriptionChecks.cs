using Azure.Messaging.ServiceBus;
using Dynabus.Checks.Sdk.Processing;
using static Dynabus.Checks.Sdk.Messages;

namespace Dynabus.Checks.Sdk.Topics;

internal sealed class SubscriptionChecks(Bus bus)
{
    [Check("each subscription of a topic gets a copy of its own, which it settles by itself")]
    public async Task Copies()
    {
        var topic = await bus.NewTopic();
        var (first, second) = (await bus.NewSubscription(topic), await bus.NewSubscription(topic));
        await using var sender = bus.Client.CreateSender(topic);
        await sender.SendMessageAsync(new ServiceBusMessage("news") { MessageId = "n1" });
        await using var one = bus.Client.CreateReceiver(topic, first);
        await using var two = bus.Client.CreateReceiver(topic, second);
        var copy = await one.ReceiveOne();
        await one.CompleteMessageAsync(copy);
        var other = await two.ReceiveOne();
        Expect.Equal("n1 n1", $"{copy.MessageId} {other.MessageId}");
        Expect.Equal($"{topic}/Subscriptions/{first}", one.EntityPath);
    }

    [Check("a subscription has dead letters of its own")]
    public async Task DeadLetters()
    {
        var topic = await bus.NewTopic();
        var subscription = await bus.NewSubscription(topic);
        await bus.Send(topic, "bad");
        await using var receiver = bus.Client.CreateReceiver(topic, subscription);
        await receiver.DeadLetterMessageAsync(await receiver.ReceiveOne(), "bad");
        await using var graves = bus.Client.CreateReceiver(
            topic, subscription, new ServiceBusReceiverOptions { SubQueue = SubQueue.DeadLetter });
        var dead = await graves.ReceiveOne();
        Expect.Equal("bad bad", $"{dead.Body} {dead.DeadLetterReason}");
    }

    [Check("a processor of a subscription handles what is sent to the topic")]
    public async Task Processor()
    {
        var topic = await bus.NewTopic();
        var subscription = await bus.NewSubscription(topic);
        var handling = new Handling();
        await using var processor = bus.Client.CreateProcessor(topic, subscription);
        processor.ProcessMessageAsync += args => handling.Work(args.Message);
        processor.ProcessErrorAsync += handling.Told;
        await processor.StartProcessingAsync();
        await bus.Send(topic, Numbered("m", 10));
        await handling.UntilHandled(10);
        Expect.Sequence(Numbered("m", 10), handling.Bodies);
    }

    [Check("a subscription with sessions gives each session to one receiver")]
    public async Task Sessions()
    {
        var topic = await bus.NewTopic();
        var subscription = await bus.NewSubscription(topic, options => options.RequiresSession = true);
        await bus.SendToSession(topic, "A", "a1", "a2");
        await using var receiver = await bus.Client.AcceptNextSessionAsync(topic, subscription);
        Expect.Equal("A", receiver.SessionId);
        Expect.Sequence(["a1", "a2"], (await receiver.ReceiveAll(2)).Bodies());
    }

    [Check("nothing is received from a topic itself")]
    public async Task TopicItself()
    {
        var topic = await bus.NewTopic();
        await using var receiver = bus.Client.CreateReceiver(topic);
        await Expect.Throws<InvalidOperationException>(() => receiver.ReceiveMessageAsync(Moment));
    }

    [Check("a queue forwards to a queue, which keeps the first sequence number beside its own")]
    public async Task ForwardTo()
    {
        var last = await bus.NewQueue();
        await bus.Send(last, "already there");
        var first = await bus.NewQueue(options => options.ForwardTo = last);
        await bus.Send(first, "forwarded");
        await using var receiver = bus.Client.CreateReceiver(last);
        var messages = await receiver.ReceiveAll(2);
        Expect.Sequence(["already there", "forwarded"], messages.Bodies());
        Expect.Equal("2 1", $"{messages[1].SequenceNumber} {messages[1].EnqueuedSequenceNumber}");
    }

    [Check("a subscription forwards to a topic, and on to its subscriptions")]
    public async Task ForwardToATopic()
    {
        var (first, second) = (await bus.NewTopic(), await bus.NewTopic());
        var subscription = await bus.NewSubscription(second);
        await bus.NewSubscription(first, options => options.ForwardTo = second);
        await bus.Send(first, "news");
        await using var receiver = bus.Client.CreateReceiver(second, subscription);
        Expect.Equal("news", await receiver.CompleteOne());
    }

    [Check("dead letters are forwarded with their reason and the name of the queue they come from")]
    public async Task ForwardDeadLetters()
    {
        var graveyard = await bus.NewQueue();
        var queue = await bus.NewQueue(options => options.ForwardDeadLetteredMessagesTo = graveyard);
        await bus.Send(queue, "bad");
        await using var receiver = bus.Client.CreateReceiver(queue);
        await receiver.DeadLetterMessageAsync(await receiver.ReceiveOne(), "Unreadable", "no JSON");
        await using var graves = bus.Client.CreateReceiver(graveyard);
        var dead = await graves.ReceiveOne();
        Expect.Equal("Unreadable no JSON", $"{dead.DeadLetterReason} {dead.DeadLetterErrorDescription}");
        Expect.Equal(queue, dead.DeadLetterSource);
        Expect.Equal(1, dead.DeliveryCount);
    }

    [Check("more than four forwards in a row end in a transfer dead letter")]
    public async Task TooManyHops()
    {
        var path = await bus.NewQueue();
        for (var hop = 0; hop < 5; hop++)
        {
            var next = path;
            path = await bus.NewQueue(options => options.ForwardTo = next);
        }

        await bus.Send(path, "far");
        var counts = new List<long>();
        await foreach (var queue in bus.Administration.GetQueuesRuntimePropertiesAsync())
        {
            if (queue.TransferDeadLetterMessageCount > 0 && queue.Name.StartsWith(path[..12]))
            {
                counts.Add(queue.TransferDeadLetterMessageCount);
            }
        }

        Expect.Sequence([1L], counts);
    }

    [Check("a queue that detects duplicates keeps the first message of an id only")]
    public async Task DuplicateDetection()
    {
        var queue = await bus.NewQueue(options => options.RequiresDuplicateDetection = true);
        await using var sender = bus.Client.CreateSender(queue);
        await sender.SendMessageAsync(new ServiceBusMessage("first") { MessageId = "same" });
        await sender.SendMessageAsync(new ServiceBusMessage("second") { MessageId = "same" });
        await sender.SendMessagesAsync(
            [new("third") { MessageId = "same" }, new("other") { MessageId = "other" }, new("again") { MessageId = "other" }]);
        Expect.Sequence(["first", "other"], await bus.Content(queue));
        await using var receiver = bus.Client.CreateReceiver(queue);
        await receiver.CompleteOne();
        await sender.SendMessageAsync(new ServiceBusMessage("after completion") { MessageId = "same" });
        Expect.Sequence(["other"], await bus.Content(queue));
    }

    [Check("a queue without duplicate detection keeps all messages of an id")]
    public async Task WithoutDetection()
    {
        var queue = await bus.NewQueue();
        await using var sender = bus.Client.CreateSender(queue);
        await sender.SendMessagesAsync([new("1") { MessageId = "same" }, new("2") { MessageId = "same" }]);
        Expect.Sequence(["1", "2"], await bus.Content(queue));
    }

    [Check("in a partitioned queue a PartitionKey keeps order, and numbers name the partition")]
    public async Task Partitioned()
    {
        var queue = await bus.NewQueue(options => options.EnablePartitioning = true);
        await using var sender = bus.Client.CreateSender(queue);
        await sender.SendMessagesAsync(
            Numbered("m", 20).Select(body => new ServiceBusMessage(body) { PartitionKey = "key" }));
        await using var receiver = bus.Client.CreateReceiver(queue);
        var messages = await receiver.ReceiveAll(20);
        Expect.Sequence(Numbered("m", 20), messages.Bodies());
        Expect.Equal(1, messages.Select(message => message.SequenceNumber >> 48).Distinct().Count());
    }
}
