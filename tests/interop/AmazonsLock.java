import com.amazonaws.services.dynamodbv2.AcquireLockOptions;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClient;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClientOptions;
import com.amazonaws.services.dynamodbv2.CreateDynamoDBTableOptions;
import com.amazonaws.services.dynamodbv2.LockItem;
import com.amazonaws.services.dynamodbv2.model.LockNotGrantedException;
import java.net.URI;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.hudi.common.config.LockConfiguration;
import org.apache.hudi.common.lock.LockProvider;
import org.apache.hudi.storage.StorageConfiguration;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.ProvisionedThroughput;

/**
 * Amazon's lock client with the settings that Hudi's DynamoDBBasedLockProvider gives it, for a bundle of Hudi for whose
 * version there is no hudi-aws: the provider of another version does not link with it.
 */
public class AmazonsLock implements LockProvider<LockItem> {

  private static final String OPTION = "hoodie.write.lock.dynamodb.";
  private final AmazonDynamoDBLockClient client;
  private final String key;
  private volatile LockItem item;

  public AmazonsLock(LockConfiguration lock, StorageConfiguration<?> storage) {
    Properties given = lock.getConfig();
    DynamoDbClient server = DynamoDbClient.builder()
        .endpointOverride(URI.create(given.getProperty(OPTION + "endpoint_url")))
        .region(Region.of(given.getProperty(OPTION + "region")))
        .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create(
            given.getProperty("hoodie.aws.access.key"), given.getProperty("hoodie.aws.secret.key"))))
        .build();
    String table = given.getProperty(OPTION + "table");
    long lease = Long.parseLong(given.getProperty("hoodie.write.lock.wait_time_ms"));
    key = given.getProperty(OPTION + "partition_key");
    client = new AmazonDynamoDBLockClient(AmazonDynamoDBLockClientOptions.builder(server, table)
        .withTimeUnit(TimeUnit.MILLISECONDS)
        .withLeaseDuration(lease)
        .withHeartbeatPeriod(lease / 3)
        .withCreateHeartbeatBackgroundThread(true)
        .build());
    if (!client.lockTableExists()) {
      AmazonDynamoDBLockClient.createLockTableInDynamoDB(CreateDynamoDBTableOptions.builder(
          server, ProvisionedThroughput.builder().readCapacityUnits(20L).writeCapacityUnits(10L).build(),
          table).build());
    }
  }

  @Override
  public boolean tryLock(long time, TimeUnit unit) {
    try {
      item = client.acquireLock(AcquireLockOptions.builder(key)
          .withAdditionalTimeToWaitForLock(time)
          .withTimeUnit(unit)
          .build());
    } catch (LockNotGrantedException e) {
      return false;
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    return item != null && !item.isExpired();
  }

  @Override
  public void unlock() {
    if (item != null) {
      client.releaseLock(item);
      item = null;
    }
  }

  @Override
  public LockItem getLock() {
    return item;
  }

  @Override
  public void close() {
    unlock();
    try {
      client.close();
    } catch (java.io.IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }
}
