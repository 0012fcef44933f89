using Azure.Messaging.ServiceBus;
using Azure.Messaging.ServiceBus.Administration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Shop;
using Wolverine;

namespace Dynabus.Checks.WolverineFx;

/// <summary>A worker and a storefront of the sample over the namespace that the environment names.</summary>
internal sealed class Stage : IAsyncDisposable
{
    private const string Prefix = "wolverine";

    private readonly string folder = Directory.CreateTempSubdirectory("wolverine-").FullName;
    private readonly Uri control = new(Needed("DYNABUS_CONTROL").TrimEnd('/') + "/");
    private readonly string connectionString = Needed("DYNABUS_CONNECTION_STRING");
    private readonly List<IHost> storefronts = [];
    private IHost? worker;
    private int names;

    public Stage()
    {
        Administration = new ServiceBusAdministrationClient(connectionString);
        Client = new ServiceBusClient(connectionString);
    }

    public Recorder Outside { get; } = new();

    public ServiceBusAdministrationClient Administration { get; }

    public ServiceBusClient Client { get; }

    /// <summary>Sends from a storefront.</summary>
    public IMessageBus Bus { get; private set; } = null!;

    /// <summary>The name of a queue, a topic or a subscription of the sample in the namespace.</summary>
    public static string PathOf(string name) => $"{Prefix}.{name}";

    /// <summary>A name for an order or a parcel that no other check uses.</summary>
    public string NewKey(string kind) => $"{kind}-{Interlocked.Increment(ref names)}";

    public async Task Start()
    {
        await StartWorker();
        Bus = await StartStorefront();
    }

    public async Task StartWorker()
    {
        var builder = NewBuilder().AddWorker(SettingsOf("worker"));
        builder.Services.AddSingleton<IOutside>(Outside);
        worker = builder.Build();
        await worker.StartAsync();
    }

    public async Task StopWorker()
    {
        if (worker is not null)
        {
            await worker.StopAsync();
            worker.Dispose();
            worker = null;
        }
    }

    /// <summary>Starts one more of them.</summary>
    public async Task<IMessageBus> StartStorefront()
    {
        var storefront = NewBuilder().AddStorefront(SettingsOf($"storefront-{storefronts.Count}")).Build();
        storefronts.Add(storefront);
        await storefront.StartAsync();
        return storefront.MessageBus();
    }

    /// <summary>Ends the namespace, with all its connections, and waits until it serves again.</summary>
    public async Task RestartNamespace()
    {
        using var http = new HttpClient();
        using var answer = await http.PostAsync(new Uri(control, "restart"), null);
        answer.EnsureSuccessStatusCode();
    }

    /// <summary>Waits for a message of a queue, or of its dead-letter queue, and completes it.</summary>
    public async Task<ServiceBusReceivedMessage> Take(
        string path,
        Func<ServiceBusReceivedMessage, bool> isWanted,
        SubQueue subQueue = SubQueue.None)
    {
        await using var receiver = Client.CreateReceiver(path, new ServiceBusReceiverOptions { SubQueue = subQueue });
        var until = DateTimeOffset.UtcNow.AddSeconds(30);
        while (DateTimeOffset.UtcNow < until)
        {
            var message = await receiver.ReceiveMessageAsync(TimeSpan.FromSeconds(2));
            if (message is null)
            {
                continue;
            }

            await receiver.CompleteMessageAsync(message);
            if (isWanted(message))
            {
                return message;
            }
        }

        throw new ExpectationException($"{path} ({subQueue}) has no such message within 30 s");
    }

    public async ValueTask DisposeAsync()
    {
        await StopWorker();
        foreach (var storefront in storefronts)
        {
            await storefront.StopAsync();
            storefront.Dispose();
        }

        await Client.DisposeAsync();
        Directory.Delete(folder, recursive: true);
    }

    private static HostApplicationBuilder NewBuilder()
    {
        var builder = Host.CreateApplicationBuilder();
        builder.Logging.ClearProviders();
        return builder;
    }

    private static string Needed(string variable) =>
        Environment.GetEnvironmentVariable(variable) ?? throw new InvalidOperationException($"{variable} is not set");

    private ShopSettings SettingsOf(string process) =>
        new(connectionString, Path.Combine(folder, $"{process}.db"), Prefix);
}
