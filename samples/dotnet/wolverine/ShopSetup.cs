using Azure.Messaging.ServiceBus;
using Azure.Messaging.ServiceBus.Administration;
using JasperFx.Resources;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Wolverine;
using Wolverine.AzureServiceBus;
using Wolverine.ErrorHandling;
using Wolverine.Sqlite;

namespace Shop;

/// <summary>
/// Two kinds of process over one namespace: the worker handles messages, the storefront sends them. Each creates at its
/// start what it needs of the namespace.
/// </summary>
public static class ShopSetup
{
    public const string Orders = "orders";
    public const string OrderEvents = "order-events";
    public const string Invoices = "invoices";
    public const string LargeOrders = "large-orders";
    public const string Quotes = "quotes";
    public const string Parcels = "parcels";
    public const string Reminders = "reminders";
    public const string Payments = "payments";
    public const string Labels = "labels";
    public const string Errors = "errors";

    public const int Printers = 3;
    public const decimal LargeFrom = 1000;

    public static readonly TimeSpan[] PaymentRetries = [TimeSpan.FromSeconds(2), TimeSpan.FromSeconds(4)];

    /// <summary>
    /// An inline listener completes a message also if it cannot schedule the retry. So the client goes on trying for
    /// minutes, not for the seconds that are the default.
    /// </summary>
    private static readonly ServiceBusRetryOptions LongerThanAnOutage = new()
    {
        MaxRetries = 50,
        MaxDelay = TimeSpan.FromSeconds(5),
    };

    public static HostApplicationBuilder AddWorker(this HostApplicationBuilder builder, ShopSettings settings)
    {
        builder.Services.AddSingleton<IOutside, ConsoleOutside>();
        builder.UseWolverine(options =>
        {
            options.Join("worker", settings);
            // A request that fails is answered with the reason, rather than not at all.
            options.EnableAutomaticFailureAcks = true;
            options.Send();
            options.Listen(settings);
            options.RetryLater();
        });
        return builder;
    }

    public static HostApplicationBuilder AddStorefront(this HostApplicationBuilder builder, ShopSettings settings)
    {
        builder.UseWolverine(options =>
        {
            options.Join("storefront", settings);
            options.Discovery.DisableConventionalDiscovery();
            options.Send();
        });
        return builder;
    }

    private static void Join(this WolverineOptions options, string service, ShopSettings settings)
    {
        options.ServiceName = $"{settings.Prefix}.{service}";
        options.ApplicationAssembly = typeof(ShopSetup).Assembly;
        options.PersistMessagesWithSqlite($"Data Source={settings.DatabaseFile}");
        // One process has this database. With several, their database is a server's and the mode is Balanced.
        options.Durability.Mode = DurabilityMode.Solo;
        options.Services.AddResourceSetupOnStartup();
        options.UseAzureServiceBus(settings.ConnectionString, client => client.RetryOptions = LongerThanAnOutage)
            .AutoProvision()
            .PrefixIdentifiers(settings.Prefix);
    }

    /// <summary>Where each message goes.</summary>
    private static void Send(this WolverineOptions options)
    {
        options.PublishMessage<PlaceOrder>().ToAzureServiceBusQueue(Orders).UseDurableOutbox();
        options.PublishMessage<OrderPlaced>()
            .ToAzureServiceBusTopic(OrderEvents)
            // Rules see properties of the message, not its body.
            .CustomizeOutgoingMessagesOfType<OrderPlaced>((envelope, placed) =>
                envelope.Headers["size"] = placed.Total >= LargeFrom ? "large" : "small")
            .UseDurableOutbox();
        options.PublishMessage<GetQuote>().ToAzureServiceBusQueue(Quotes);
        options.PublishMessage<MoveParcel>()
            .ToAzureServiceBusQueue(Parcels)
            .ConfigureQueue(queue => queue.RequiresSession = true)
            .CustomizeOutgoingMessagesOfType<MoveParcel>((envelope, step) => envelope.GroupId = step.ParcelId)
            .SendInline();
        options.PublishMessage<RemindCustomer>().ToAzureServiceBusQueue(Reminders).SendInline();
        options.PublishMessage<ChargeCard>()
            .ToAzureServiceBusQueue(Payments)
            .ConfigureQueue(queue => queue.MaxDeliveryCount = 3)
            .SendInline();
        options.PublishMessage<PrintLabel>()
            .ToAzureServiceBusQueue(Labels)
            // The lock of a label that takes longer is renewed while it is printed.
            .ConfigureQueue(queue => queue.LockDuration = TimeSpan.FromSeconds(5));
    }

    /// <summary>What the worker hears, and how much of it at once.</summary>
    private static void Listen(this WolverineOptions options, ShopSettings settings)
    {
        // The inbox keeps what was received until it is handled, and knows what was handled before.
        options.ListenToAzureServiceBusQueue(Orders)
            .UseDurableInbox()
            .ConfigureDeadLetterQueue($"{settings.Prefix}.{Errors}");

        options.ListenToAzureServiceBusSubscription(Invoices)
            .FromTopic(OrderEvents)
            .UseDurableInbox()
            .AddStickyHandler(typeof(InvoiceHandler));
        options.ListenToAzureServiceBusSubscription(
                LargeOrders,
                configureSubscriptionRule: rule => rule.Filter = new SqlRuleFilter("size = 'large'"))
            .FromTopic(OrderEvents)
            .ProcessInline()
            .AddStickyHandler(typeof(LargeOrderHandler));

        options.ListenToAzureServiceBusQueue(Quotes).ProcessInline().MaximumConcurrentCalls(8);
        // Four parcels at a time, and each in order.
        options.ListenToAzureServiceBusQueue(Parcels).RequireSessions(4).ProcessInline();
        options.ListenToAzureServiceBusQueue(Reminders).ProcessInline();
        options.ListenToAzureServiceBusQueue(Payments).ProcessInline().MaximumConcurrentCalls(4);
        options.ListenToAzureServiceBusQueue(Labels).ProcessInline().MaximumConcurrentCalls(Printers);
    }

    /// <summary>A retry is a scheduled message: it costs no thread while it waits, and outlives the process.</summary>
    private static void RetryLater(this WolverineOptions options)
    {
        options.OnException<CardServiceBusyException>().ScheduleRetry(PaymentRetries).Then.MoveToErrorQueue();
        options.OnException<CardRefusedException>().MoveToErrorQueue();
    }
}
