using Azure.Messaging.ServiceBus.Administration;
using MassTransit;
using Microsoft.Extensions.DependencyInjection;
using Orders.Consumers;

namespace Orders;

/// <summary>The bus of the order service. When it starts, it creates the queues, topics, subscriptions and rules.</summary>
public static class OrderBus
{
    private static readonly TimeSpan ShipmentLock = TimeSpan.FromSeconds(10);

    /// <summary>Adds the service. Its payments, warehouse and journal can be replaced afterwards.</summary>
    public static IServiceCollection AddOrders(
        this IServiceCollection services,
        string connectionString,
        OrderOptions options)
    {
        services.AddSingleton(options);
        services.AddSingleton<IPayments, InstantPayments>();
        services.AddSingleton<IWarehouse, QuickWarehouse>();
        services.AddSingleton<IJournal, LoggedJournal>();
        return services.AddMassTransit(bus =>
        {
            bus.AddServiceBusMessageScheduler();
            bus.AddConsumers(typeof(SubmitOrderConsumer).Assembly);
            bus.AddRequestClient<SubmitOrder>(Queues.AddressOf(Queues.Submit));
            bus.UsingAzureServiceBus((context, configurator) =>
            {
                configurator.Host(connectionString);
                configurator.UseServiceBusMessageScheduler();
                ConfigureMessages(configurator);
                ConfigureSubmission(configurator, context);
                ConfigurePayments(configurator, context, options);
                ConfigureShipments(configurator, context, options);
                ConfigureHistory(configurator, context);
                ConfigureSubscribers(configurator, context, options);
            });
        });
    }

    private static void ConfigureMessages(IServiceBusBusFactoryConfigurator bus)
    {
        // Topics are there from the start, also those that nobody has published to.
        bus.DeployPublishTopology = true;
        bus.Publish<OrderSubmitted>(topic => topic.DefaultMessageTimeToLive = TimeSpan.FromDays(7));
        bus.Publish<OrderPaid>();
        bus.Publish<OrderShipped>();
        // The steps of one order are one session.
        bus.Send<OrderStep>(send => send.UseSessionIdFormatter(step => step.Message.OrderId.ToString()));
        EndpointConvention.Map<OrderStep>(Queues.AddressOf(Queues.History));
    }

    private static void ConfigureSubmission(IServiceBusBusFactoryConfigurator bus, IBusRegistrationContext context) =>
        bus.ReceiveEndpoint(Queues.Submit, endpoint =>
        {
            endpoint.ConfigureConsumeTopology = false;
            // A client that repeats a request within ten minutes, with the same MessageId, sends it once.
            endpoint.EnableDuplicateDetection(TimeSpan.FromMinutes(10));
            endpoint.UseMessageRetry(retry => retry.Interval(3, TimeSpan.FromMilliseconds(200)));
            endpoint.UseInMemoryOutbox(context);
            endpoint.ConfigureConsumer<SubmitOrderConsumer>(context);
        });

    private static void ConfigurePayments(
        IServiceBusBusFactoryConfigurator bus,
        IBusRegistrationContext context,
        OrderOptions options) =>
        bus.ReceiveEndpoint(Queues.Payments, endpoint =>
        {
            endpoint.ConfigureConsumeTopology = false;
            // From the outside in: schedule it again, before that try again at once, and send only on success.
            endpoint.UseScheduledRedelivery(retry =>
            {
                retry.Handle<PaymentsUnavailableException>();
                retry.Intervals(options.PaymentRedeliveries);
            });
            endpoint.UseMessageRetry(retry =>
            {
                retry.Handle<PaymentsUnavailableException>();
                retry.Immediate(options.PaymentRetries);
            });
            endpoint.UseInMemoryOutbox(context);
            endpoint.ConfigureConsumer<ChargePaymentConsumer>(context);
        });

    private static void ConfigureShipments(
        IServiceBusBusFactoryConfigurator bus,
        IBusRegistrationContext context,
        OrderOptions options) =>
        bus.ReceiveEndpoint(Queues.Shipments, endpoint =>
        {
            endpoint.ConfigureConsumeTopology = false;
            endpoint.ConcurrentMessageLimit = options.ConcurrentShipments;
            endpoint.PrefetchCount = options.ShipmentPrefetch;
            // A shipment that takes longer has its lock renewed, for up to five minutes.
            endpoint.LockDuration = ShipmentLock;
            endpoint.MaxAutoRenewDuration = TimeSpan.FromMinutes(5);
            // What fails, and what nobody handles, goes to the queue's own dead-letter queue.
            endpoint.ConfigureDeadLetterQueueErrorTransport();
            endpoint.ConfigureDeadLetterQueueDeadLetterTransport();
            endpoint.ConfigureConsumer<ShipOrderConsumer>(context);
        });

    private static void ConfigureHistory(IServiceBusBusFactoryConfigurator bus, IBusRegistrationContext context) =>
        bus.ReceiveEndpoint(Queues.History, endpoint =>
        {
            endpoint.ConfigureConsumeTopology = false;
            endpoint.RequiresSession = true;
            endpoint.MaxConcurrentSessions = 8;
            endpoint.MaxConcurrentCallsPerSession = 1;
            endpoint.SessionIdleTimeout = TimeSpan.FromSeconds(1);
            endpoint.ConfigureConsumer<OrderStepConsumer>(context);
        });

    private static void ConfigureSubscribers(
        IServiceBusBusFactoryConfigurator bus,
        IBusRegistrationContext context,
        OrderOptions options)
    {
        bus.ReceiveEndpoint(Queues.Reminders, endpoint =>
        {
            endpoint.ConfigureConsumeTopology = false;
            endpoint.ConfigureConsumer<RemindOfPaymentConsumer>(context);
        });
        bus.ReceiveEndpoint(Queues.Audit, endpoint => endpoint.ConfigureConsumer<AuditConsumer>(context));
        bus.ReceiveEndpoint(Queues.Europe, endpoint =>
        {
            endpoint.ConfigureConsumeTopology = false;
            var european = new CorrelationRuleFilter { ApplicationProperties = { ["Region"] = "EU" } };
            endpoint.Subscribe<OrderSubmitted>(Queues.Europe, subscription => subscription.Filter = european);
            endpoint.ConfigureConsumer<EuropeanOrderConsumer>(context);
        });
        bus.SubscriptionEndpoint<OrderSubmitted>(Queues.LargeOrders, endpoint =>
        {
            var large = new SqlRuleFilter($"Total >= {options.LargeTotal}");
            endpoint.Rule = new CreateRuleOptions("Large", large);
            endpoint.ConfigureConsumer<LargeOrderConsumer>(context);
        });
    }
}
