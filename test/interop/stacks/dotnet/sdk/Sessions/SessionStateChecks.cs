using Azure.Messaging.ServiceBus;
using static Dynabus.Checks.Sdk.Messages;

namespace Dynabus.Checks.Sdk.Sessions;

internal sealed class SessionStateChecks(Bus bus)
{
    [Check("a session's state is null at first, is what was set last, outlasts its holder, and null clears it")]
    public async Task SetAndGet()
    {
        var queue = await bus.NewSessionQueue();
        var receiver = await bus.Client.AcceptSessionAsync(queue, "A");
        Expect.Equal(null, await receiver.GetSessionStateAsync());
        await receiver.SetSessionStateAsync(BinaryData.FromString("first"));
        await receiver.SetSessionStateAsync(BinaryData.FromString("second"));
        await receiver.CloseAsync();
        await using var next = await bus.Client.AcceptSessionAsync(queue, "A");
        Expect.Equal("second", $"{await next.GetSessionStateAsync()}");
        await next.SetSessionStateAsync(null);
        Expect.Equal(null, await next.GetSessionStateAsync());
    }

    [Check("a state of 200 KB comes back byte by byte")]
    public async Task LargeState()
    {
        var queue = await bus.NewSessionQueue();
        var state = new byte[200 * 1024];
        new Random(2).NextBytes(state);
        await using var receiver = await bus.Client.AcceptSessionAsync(queue, "A");
        await receiver.SetSessionStateAsync(BinaryData.FromBytes(state));
        var found = Expect.Present(await receiver.GetSessionStateAsync());
        Expect.True(found.ToArray().AsSpan().SequenceEqual(state), "the bytes are the same");
    }

    [Check("a state above 256 KB is refused, and the session keeps the state that it has")]
    public async Task StateTooLarge()
    {
        var queue = await bus.NewSessionQueue();
        await using var receiver = await bus.Client.AcceptSessionAsync(queue, "A");
        await receiver.SetSessionStateAsync(BinaryData.FromString("small"));
        var large = BinaryData.FromBytes(new byte[257 * 1024]);
        await Expect.Throws<ArgumentException>(() => receiver.SetSessionStateAsync(large));
        Expect.Equal("small", $"{await receiver.GetSessionStateAsync()}");
    }

    [Check("GetMessageSessionsAsync lists sessions with messages, and those whose state was set after an instant")]
    public async Task ListOfSessions()
    {
        var queue = await bus.NewSessionQueue();
        await Task.WhenAll(new[] { "A", "B", "C" }.Select(session => bus.SendToSession(queue, session, session)));
        Expect.Sequence(["A", "B", "C"], (await Listed(bus.Client.GetMessageSessionsAsync(queue))).Order());
        var before = DateTimeOffset.UtcNow.AddSeconds(-1);
        await using var receiver = await bus.Client.AcceptSessionAsync(queue, "with state");
        await receiver.SetSessionStateAsync(BinaryData.FromString("state"));
        Expect.Sequence(["with state"], await Listed(bus.Client.GetMessageSessionsAsync(queue, before)));
        var later = DateTimeOffset.UtcNow.AddMinutes(1);
        Expect.Sequence([], await Listed(bus.Client.GetMessageSessionsAsync(queue, later)));
    }

    [Check("the list of a subscription's sessions goes on over several pages")]
    public async Task LongListOfSessions()
    {
        var topic = await bus.NewTopic();
        var subscription = await bus.NewSubscription(topic, options => options.RequiresSession = true);
        var names = Numbered("s", 250);
        await using var sender = bus.Client.CreateSender(topic);
        await sender.SendMessagesAsync(names.Select(name => new ServiceBusMessage { SessionId = name }));
        var found = await Listed(bus.Client.GetMessageSessionsAsync(topic, subscription));
        Expect.Sequence(names.Order(), found.Order());
    }

    [Check("a session cannot be taken non-exclusively here, and the client says NotSupported")]
    public async Task NonExclusive()
    {
        var queue = await bus.NewSessionQueue();
        await bus.SendToSession(queue, "A", "held");
        var options = new ServiceBusSessionReceiverOptions { EnableNonExclusiveSession = true };
        await Expect.Throws<NotSupportedException>(() => bus.Client.AcceptSessionAsync(queue, "A", options));
        await using var receiver = await bus.Client.AcceptSessionAsync(queue, "A");
        Expect.Equal("held", await receiver.CompleteOne());
    }

    private static async Task<List<string>> Listed(IAsyncEnumerable<string> sessions)
    {
        var names = new List<string>();
        await foreach (var name in sessions)
        {
            names.Add(name);
        }

        return names;
    }
}
