using System.Security.Cryptography;
using System.Text;
using Azure;
using Azure.Messaging.ServiceBus;
using Azure.Messaging.ServiceBus.Administration;
using static Dynabus.Checks.Sdk.Messages;

namespace Dynabus.Checks.Sdk.Clients;

internal sealed class CredentialChecks(Bus bus)
{
    [Check(
        "a key of one queue sends to that queue, and may neither receive there nor send elsewhere",
        NotOver = "proxy",
        Why = "a proxy over HTTP lets in its own key only")]
    public async Task RightsOfAKey()
    {
        var rule = new SharedAccessAuthorizationRule("sender", [AccessRights.Send]);
        var queue = await bus.NewQueue(options => options.AuthorizationRules.Add(rule));
        var other = await bus.NewQueue();
        await using var client = new ServiceBusClient(bus.WithKey("sender", rule.PrimaryKey), bus.OptionsWith());
        await using var sender = client.CreateSender(queue);
        await sender.SendMessageAsync(new ServiceBusMessage("allowed"));
        await using var receiver = client.CreateReceiver(queue);
        await Expect.Throws<UnauthorizedAccessException>(() => receiver.ReceiveMessageAsync(Moment));
        await using var elsewhere = client.CreateSender(other);
        await Expect.Throws<UnauthorizedAccessException>(
            () => elsewhere.SendMessageAsync(new ServiceBusMessage("refused")));
        Expect.Sequence(["allowed"], await bus.Content(queue));
    }

    [Check("a connection string with an EntityPath opens that entity")]
    public async Task EntityPath()
    {
        var queue = await bus.NewQueue();
        var connectionString = $"{bus.ConnectionString.TrimEnd(';')};EntityPath={queue}";
        await using var client = new ServiceBusClient(connectionString, bus.OptionsWith());
        await using var sender = client.CreateSender(queue);
        await sender.SendMessageAsync(new ServiceBusMessage("hello"));
        Expect.Sequence(["hello"], await bus.Content(queue));
        Expect.Throws<ArgumentException>(() => Task.FromResult(client.CreateSender("other"))).Wait();
    }

    [Check("a connection string with a shared access signature opens what the signature is for, until it expires")]
    public async Task Signature()
    {
        var queue = await bus.NewQueue();
        await using var client = new ServiceBusClient(
            bus.WithSignature(SignatureFor(queue, TimeSpan.FromHours(1))), bus.OptionsWith());
        await using var sender = client.CreateSender(queue);
        await sender.SendMessageAsync(new ServiceBusMessage("signed"));
        Expect.Sequence(["signed"], await bus.Content(queue));
        await using var late = new ServiceBusClient(
            bus.WithSignature(SignatureFor(queue, TimeSpan.FromMinutes(-1))), bus.OptionsWith());
        await using var refused = late.CreateSender(queue);
        await Expect.Throws<UnauthorizedAccessException>(() => refused.SendMessageAsync(new ServiceBusMessage("late")));
    }

    [Check(
        "AzureNamedKeyCredential and AzureSasCredential sign as a connection string does, over TLS",
        NotOver = "proxy",
        Why = "these credentials always use TLS, and this proxy has no certificate")]
    public async Task CredentialObjects()
    {
        var queue = await bus.NewQueue();
        var options = bus.OptionsWith(options => options.CustomEndpointAddress = bus.Endpoint);
        var named = new AzureNamedKeyCredential(bus.Connection.SharedAccessKeyName, bus.Connection.SharedAccessKey);
        await using var byKey = new ServiceBusClient("localhost", named, options);
        await byKey.CreateSender(queue).SendMessageAsync(new ServiceBusMessage("by key"));
        var signature = new AzureSasCredential(SignatureFor(queue, TimeSpan.FromHours(1)));
        await using var bySignature = new ServiceBusClient("localhost", signature, options);
        await bySignature.CreateSender(queue).SendMessageAsync(new ServiceBusMessage("by signature"));
        Expect.Sequence(["by key", "by signature"], await bus.Content(queue));
    }

    private string SignatureFor(string entity, TimeSpan lifetime)
    {
        var audience = Uri.EscapeDataString($"sb://localhost/{entity}");
        var expiry = DateTimeOffset.UtcNow.Add(lifetime).ToUnixTimeSeconds();
        var key = Encoding.UTF8.GetBytes(bus.Connection.SharedAccessKey);
        var hash = HMACSHA256.HashData(key, Encoding.UTF8.GetBytes($"{audience}\n{expiry}"));
        var signature = Uri.EscapeDataString(Convert.ToBase64String(hash));
        return $"SharedAccessSignature sr={audience}&sig={signature}&se={expiry}&skn={bus.Connection.SharedAccessKeyName}";
    }
}
