using Azure.Messaging.ServiceBus;
using Azure.Messaging.ServiceBus.Administration;
using MassTransit;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Orders;

namespace Dynabus.Checks.MassTransit;

/// <summary>The order service under check, and clients that look at the namespace beside it.</summary>
public sealed class Service : IAsyncDisposable
{
    /// <summary>Shorter than in the sample, so that the checks take less time.</summary>
    public static readonly OrderOptions Options = new()
    {
        RemindAfter = TimeSpan.FromSeconds(4),
        PaymentRetries = 1,
        PaymentRedeliveries = [TimeSpan.FromSeconds(2), TimeSpan.FromSeconds(4)],
    };

    private readonly IHost host;

    private Service(string connectionString, OrderOptions options)
    {
        var builder = Host.CreateApplicationBuilder();
        builder.Logging.SetMinimumLevel(LogLevel.None);
        builder.Services.AddOrders(connectionString, options);
        builder.Services.AddSingleton<IJournal>(Journal);
        builder.Services.AddSingleton<IPayments>(Payments);
        builder.Services.AddSingleton<IWarehouse>(Warehouse);
        builder.Services.Configure<MassTransitHostOptions>(hosted => hosted.WaitUntilStarted = true);
        host = builder.Build();
        Administration = new ServiceBusAdministrationClient(connectionString);
        Client = new ServiceBusClient(connectionString);
    }

    public RecordedJournal Journal { get; } = new();

    public ScriptedPayments Payments { get; } = new();

    public ScriptedWarehouse Warehouse { get; } = new();

    public ServiceBusAdministrationClient Administration { get; }

    public ServiceBusClient Client { get; }

    public IBus Bus => host.Services.GetRequiredService<IBus>();

    /// <summary>Starts the service, which creates its entities.</summary>
    public static async Task<Service> Start(string connectionString, OrderOptions? options = null)
    {
        var service = new Service(connectionString, options ?? Options);
        await service.host.StartAsync();
        return service;
    }

    /// <summary>Asks for an order, as a customer does.</summary>
    public async Task<Response<OrderAccepted, OrderRejected>> Submit(SubmitOrder order)
    {
        await using var scope = host.Services.CreateAsyncScope();
        var client = scope.ServiceProvider.GetRequiredService<IRequestClient<SubmitOrder>>();
        return await client.GetResponse<OrderAccepted, OrderRejected>(order, timeout: RequestTimeout.After(m: 1));
    }

    public async Task Send<T>(string queue, T message)
        where T : class
    {
        var endpoint = await Bus.GetSendEndpoint(Queues.AddressOf(queue));
        await endpoint.Send(message);
    }

    /// <summary>Finds the message of an order in a queue that the service does not read, and leaves it there.</summary>
    public async Task<ServiceBusReceivedMessage> Find(string queue, Guid orderId, SubQueue subQueue = SubQueue.None)
    {
        // The service creates an error queue with its first message.
        await Expect.Eventually(async () => await Administration.QueueExistsAsync(queue));
        await using var receiver = Client.CreateReceiver(queue, new ServiceBusReceiverOptions { SubQueue = subQueue });
        ServiceBusReceivedMessage? found = null;
        await Expect.Eventually(async () =>
        {
            var peeked = await receiver.PeekMessagesAsync(100, fromSequenceNumber: 0);
            found = peeked.FirstOrDefault(message => message.Body.ToString().Contains($"{orderId}"));
            return found is not null;
        });
        return found!;
    }

    /// <summary>Stops the service, which first finishes what it handles.</summary>
    public async ValueTask DisposeAsync()
    {
        await host.StopAsync();
        host.Dispose();
        await Client.DisposeAsync();
    }
}
