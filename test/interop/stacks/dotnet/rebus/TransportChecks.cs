using Azure.Messaging.ServiceBus;
using Azure.Messaging.ServiceBus.Administration;
using Rebus.Config;
using Rebus.Messages;

namespace Dynabus.Checks.RebusTransport;

/// <summary>Settings of the transport that the sample does not use.</summary>
internal static class TransportChecks
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(40);

    public static Task Run(Tally tally) => Task.WhenAll(
        tally.Check("a partitioned queue works", Partitioned),
        tally.Check("duplicates of a message are dropped", Duplicates),
        tally.Check("a message that waited longer than it may is not handled", Expired),
        tally.Check("native headers replace those of Rebus", NativeHeaders),
        tally.Check("a message can be sent to a session", Session),
        tally.Check("prefetched messages are all handled once", Prefetched),
        tally.Check("settings that were changed are applied to the queue at the next start", Changed),
        tally.Check("an unsubscribed bus gets no more events", Unsubscribed));

    private static async Task Partitioned()
    {
        using var bus = new TestBus(transport: (_, transport) => transport.EnablePartitioning());
        QueueProperties queue = await Namespace.Administration.GetQueueAsync(bus.Queue);
        Expect.True(queue.EnablePartitioning);
        await bus.SendMany(100);
        await Expect.Eventually(() => bus.Different == 100, Patience);
        Expect.Equal(100, bus.Total);
    }

    private static async Task Duplicates()
    {
        using var bus = new TestBus(
            transport: (_, transport) => transport.SetDuplicateDetectionHistoryTimeWindow(TimeSpan.FromMinutes(1)));
        var headers = new Dictionary<string, string> { [Headers.MessageId] = Guid.NewGuid().ToString() };
        await bus.Bus.SendLocal(new Text("once"), headers);
        await bus.Bus.SendLocal(new Text("once"), headers);
        await bus.Bus.SendLocal(new Text("after"));
        await Expect.Eventually(() => bus.TimesOf("after") == 1, Patience);
        await Expect.Eventually(() => bus.TimesOf("once") == 1, Patience);
        await Expect.Eventually(async () => await Namespace.CountIn(bus.Queue) == 0);
        Expect.Equal(1, bus.TimesOf("once"));
    }

    private static async Task Expired()
    {
        using var bus = new TestBus(options: options => options.SetNumberOfWorkers(0));
        var shortLived = new Dictionary<string, string> { [Headers.TimeToBeReceived] = "00:00:02" };
        var longLived = new Dictionary<string, string> { [Headers.TimeToBeReceived] = "00:05:00" };
        await bus.Bus.SendLocal(new Text("short"), shortLived);
        await bus.Bus.SendLocal(new Text("long"), longLived);
        await Task.Delay(TimeSpan.FromSeconds(3));
        bus.Bus.Advanced.Workers.SetNumberOfWorkers(1);
        await Expect.Eventually(() => bus.TimesOf("long") == 1, Patience);
        await Expect.Eventually(async () => await Namespace.CountIn(bus.Queue) == 0);
        Expect.Equal(0, bus.TimesOf("short"));
    }

    private static async Task NativeHeaders()
    {
        using var bus = new TestBus(
            transport: (configurer, _) => configurer.UseNativeHeaders(),
            options: options => options.SetNumberOfWorkers(0));
        var headers = new Dictionary<string, string> { [Headers.MessageId] = "id", [Headers.CorrelationId] = "about" };
        await bus.Bus.SendLocal(new Text("native"), headers);
        var message = await Namespace.First(bus.Queue);
        Expect.Equal("id", message.MessageId);
        Expect.Equal("about", message.CorrelationId);
        Expect.Equal("application/json;charset=utf-8", message.ContentType);
        Expect.True(!message.ApplicationProperties.ContainsKey(Headers.MessageId));
        Expect.True(!message.ApplicationProperties.ContainsKey(Headers.CorrelationId));
    }

    private static async Task Session()
    {
        var queue = Namespace.NewName("sessions");
        await Namespace.Administration.CreateQueueAsync(new CreateQueueOptions(queue) { RequiresSession = true });
        using (var bus = new TestBus())
        {
            var headers = new Dictionary<string, string> { ["SessionId"] = "S" };
            await bus.Bus.Advanced.Routing.Send(queue, new Text("in order"), headers);
        }

        await using var session = await Namespace.Client.AcceptNextSessionAsync(queue);
        Expect.Equal("S", session.SessionId);
        var message = Expect.Present(await session.ReceiveMessageAsync(Patience));
        Expect.Equal("in order", message.Body.ToObjectFromJson<Text>()?.Content);
        await Namespace.Administration.DeleteQueueAsync(queue);
    }

    private static async Task Prefetched()
    {
        using var bus = new TestBus(transport: (_, transport) => transport.EnablePrefetching(50));
        await bus.SendMany(200);
        await Expect.Eventually(() => bus.Different == 200, Patience);
        await Expect.Eventually(async () => await Namespace.CountIn(bus.Queue) == 0);
        Expect.Equal(200, bus.Total);
    }

    private static async Task Changed()
    {
        using var before = new TestBus();
        using var after = new TestBus(
            transport: (_, transport) => transport
                .SetMessagePeekLockDuration(TimeSpan.FromSeconds(45))
                .SetDefaultMessageTimeToLive(TimeSpan.FromHours(1))
                .SetAutoDeleteOnIdle(TimeSpan.FromHours(2)),
            queue: before.Queue);
        QueueProperties queue = await Namespace.Administration.GetQueueAsync(before.Queue);
        Expect.Equal(TimeSpan.FromSeconds(45), queue.LockDuration);
        Expect.Equal(TimeSpan.FromHours(1), queue.DefaultMessageTimeToLive);
        Expect.Equal(TimeSpan.FromHours(2), queue.AutoDeleteOnIdle);
    }

    private static async Task Unsubscribed()
    {
        var topic = Namespace.NewName("events");
        using var leaving = new TestBus();
        using var staying = new TestBus();
        await leaving.Bus.Advanced.Topics.Subscribe(topic);
        await staying.Bus.Advanced.Topics.Subscribe(topic);
        await staying.Bus.Advanced.Topics.Publish(topic, new Text("to both"));
        await Expect.Eventually(() => leaving.TimesOf("to both") == 1 && staying.TimesOf("to both") == 1, Patience);
        await leaving.Bus.Advanced.Topics.Unsubscribe(topic);
        Expect.True(!(await Namespace.Administration.SubscriptionExistsAsync(topic, leaving.Queue)).Value);
        await staying.Bus.Advanced.Topics.Publish(topic, new Text("to one"));
        await Expect.Eventually(() => staying.TimesOf("to one") == 1, Patience);
        Expect.Equal(0, leaving.TimesOf("to one"));
        await Namespace.Administration.DeleteTopicAsync(topic);
    }
}
