using Azure.Messaging.ServiceBus;
using Azure.Messaging.ServiceBus.Administration;

namespace Dynabus.Checks.RebusTransport;

/// <summary>The namespace that all checks use, seen by the vendor's clients.</summary>
internal static class Namespace
{
    public static readonly string ConnectionString =
        Environment.GetEnvironmentVariable("DYNABUS_CONNECTION_STRING")
        ?? throw new InvalidOperationException("DYNABUS_CONNECTION_STRING is not set.");

    private static readonly string? Control = Environment.GetEnvironmentVariable("DYNABUS_CONTROL");

    public static readonly ServiceBusAdministrationClient Administration = new(ConnectionString);

    public static readonly ServiceBusClient Client = new(ConnectionString);

    public static bool CanRestart => Control is not null;

    public static string NewName(string subject) => $"{subject}-{Guid.NewGuid():N}";

    /// <summary>Ends the namespace with all its connections, and returns when it serves again.</summary>
    public static async Task Restart()
    {
        using var http = new HttpClient();
        using var response = await http.PostAsync($"{Control}/restart", content: null);
        response.EnsureSuccessStatusCode();
    }

    /// <summary>Returns the first message of a queue, once it is there. It stays locked.</summary>
    public static async Task<ServiceBusReceivedMessage> First(string queue, SubQueue subQueue = SubQueue.None)
    {
        await using var receiver = Client.CreateReceiver(queue, new ServiceBusReceiverOptions { SubQueue = subQueue });
        return Expect.Present(await receiver.ReceiveMessageAsync(TimeSpan.FromSeconds(30)));
    }

    public static async Task<long> CountIn(string queue) =>
        (await Administration.GetQueueRuntimePropertiesAsync(queue)).Value.TotalMessageCount;
}
