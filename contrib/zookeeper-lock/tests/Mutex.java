import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * Curator's mutex as Hudi's ZookeeperBasedLockProvider uses it. Arguments: the servers, milliseconds
 * of a session. Each line of the input is a question, each line of the output its answer.
 */
public class Mutex {
  public static void main(String[] given) throws Exception {
    CuratorFramework client = CuratorFrameworkFactory.builder()
        .connectString(given[0])
        .retryPolicy(new ExponentialBackoffRetry(100, 3))
        .sessionTimeoutMs(Integer.parseInt(given[1]))
        .connectionTimeoutMs(15000)
        .build();
    client.start();
    if (!client.blockUntilConnected(60, TimeUnit.SECONDS)) {
      throw new IllegalStateException("no connection");
    }
    System.out.println("ready");
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    InterProcessMutex mutex = null;
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] asked = line.split(" ");
      if (asked[0].equals("acquire")) {
        mutex = new InterProcessMutex(client, asked[1]);
        System.out.println(mutex.acquire(Long.parseLong(asked[2]), TimeUnit.MILLISECONDS));
      } else if (asked[0].equals("nodes")) {
        System.out.println(String.join(" ", mutex.getParticipantNodes()));
      } else {
        mutex.release();
        System.out.println("released");
      }
    }
    client.close();
  }
}
